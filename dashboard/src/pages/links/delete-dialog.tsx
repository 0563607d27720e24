import type { ListedLink } from "../../../../clients/typescript/src/index.ts";
import { getClient } from "../../data/http.ts";
import { useApiMutation } from "../../data/mutation.ts";
import { useAccountContext } from "../../data/session.ts";
import { ConfirmDialog } from "../../ui/dialog.tsx";

export function DeleteDialog({ link, onClose }: { link: ListedLink; onClose: () => void }) {
  const { scope } = useAccountContext();
  const remove = useApiMutation(() => getClient(scope).links.delete(link.id), {
    invalidate: [["links", scope]],
    successMessage: "The link has been deleted.",
    onSuccess: onClose,
  });
  return (
    <ConfirmDialog
      title="Delete this link?"
      action="Delete"
      onClose={onClose}
      onConfirm={() => remove.mutate()}
      loading={remove.isPending}
      error={remove.error}
    >
      <p>
        <strong>{link.short_url}</strong> stops redirecting immediately, and others can take its
        alias. This cannot be undone.
      </p>
    </ConfirmDialog>
  );
}
