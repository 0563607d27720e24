/** The dialogs of a link, each loaded when it is first opened. */
import { lazy, Suspense } from "react";

import type { FullLink, ListedLink } from "../../../../clients/typescript/src/index.ts";

const EditDialog = lazy(async () => ({ default: (await import("./edit-dialog.tsx")).EditDialog }));
const QrDialog = lazy(async () => ({ default: (await import("./qr-dialog.tsx")).QrDialog }));
const DeleteDialog = lazy(async () => {
  const { DeleteDialog } = await import("./delete-dialog.tsx");
  return { default: DeleteDialog };
});

export type LinkDialogKind = "edit" | "qr" | "delete";

type LinkDialogProps = {
  kind: LinkDialogKind;
  link: ListedLink | FullLink;
  onClose: () => void;
};

export const LinkDialog = ({ kind, link, onClose }: LinkDialogProps) => (
  <Suspense>
    {kind === "edit" && <EditDialog link={link} onClose={onClose} />}
    {kind === "qr" && <QrDialog link={link} onClose={onClose} />}
    {kind === "delete" && <DeleteDialog link={link} onClose={onClose} />}
  </Suspense>
);
