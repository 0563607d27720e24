import type { Link } from "../../../../clients/typescript/src/index.ts";
import { useChange } from "../../data/change.ts";
import { clientOf } from "../../data/http.ts";
import { useHere } from "../../data/session.ts";
import { ConfirmDialog } from "../../ui/dialog.tsx";

export function DeleteDialog({ link, onClose }: { link: Link; onClose: () => void }) {
  const { place } = useHere();
  const remove = useChange(() => clientOf(place).links.delete(link.id), {
    refresh: [["links", place]],
    done: "The link has been deleted.",
    onDone: onClose,
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
