import type { Link } from "../../../../clients/typescript/src/index.ts";
import { readableUrl } from "../../../../shared/contracts/readable-host.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { strong } from "../../languages/tags.tsx";
import { rich, t } from "../../languages/translate.ts";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { useApiMutation } from "../../ui/mutation.ts";

type DeleteDialogProps = { link: Pick<Link, "id" | "short_url">; onClose: () => void };

export function DeleteDialog({ link, onClose }: DeleteDialogProps) {
  const { scope } = useAccountContext();
  const remove = useApiMutation(() => getClient(scope).links.delete(link.id), {
    invalidate: [
      ["links", scope],
      ["tags", scope],
    ],
    successMessage: t("links.delete.done"),
    onSuccess: onClose,
  });
  return (
    <ConfirmDialog
      title={t("links.delete.title")}
      action={t("links.actions.delete")}
      onClose={onClose}
      onConfirm={() => remove.mutate()}
      loading={remove.isPending}
      error={remove.error}
    >
      <p>{rich("links.delete.text", { url: readableUrl(link.short_url), strong })}</p>
    </ConfirmDialog>
  );
}
