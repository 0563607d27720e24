import { useMutation, useQueryClient } from "@tanstack/react-query";

import type { Link } from "../../../../clients/typescript/src/index.ts";
import { clientOf } from "../../data/http.ts";
import { useHere } from "../../data/session.ts";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toast.tsx";

export function DeleteDialog({ link, onClose }: { link: Link; onClose: () => void }) {
  const { place } = useHere();
  const queryClient = useQueryClient();
  const remove = useMutation({
    mutationFn: () => clientOf(place).links.delete(link.id),
    async onSuccess() {
      await queryClient.invalidateQueries({ queryKey: ["links", place] });
      toast("The link has been deleted.");
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title="Delete this link?"
      action="Delete"
      onClose={onClose}
      onConfirm={() => remove.mutate()}
      busy={remove.isPending}
      error={remove.error}
    >
      <p>
        <strong>{link.short_url}</strong> stops redirecting at once, for good, and its alias is free
        for anybody.
      </p>
    </ConfirmDialog>
  );
}
