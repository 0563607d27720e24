import type { ListedLink } from "../../../../clients/typescript/src/index.ts";
import { readableUrl } from "../../../../shared/contracts/readable-host.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { useApiMutation } from "../../ui/mutation.ts";

type DeleteDialogProps = { link: Pick<ListedLink, "id" | "short_url">; onClose: () => void };

export function DeleteDialog({ link, onClose }: DeleteDialogProps) {
  const { scope } = useAccountContext();
  const remove = useApiMutation(() => getClient(scope).links.delete(link.id), {
    invalidate: [
      ["links", scope],
      ["tags", scope],
    ],
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
        <strong>{readableUrl(link.short_url)}</strong> stops redirecting immediately, and others can
        take its alias. This cannot be undone. Archive the link to keep it out of the list.
      </p>
    </ConfirmDialog>
  );
}
