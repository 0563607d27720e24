/** The dialogs of a link, each loaded when it is first opened. */
import { lazy, Suspense } from "react";

import type { FullLink, Link } from "../../../../clients/typescript/src/index.ts";

const loadDialogs = () => import("./dialogs.tsx");

const EditDialog = lazy(async () => ({ default: (await loadDialogs()).EditDialog }));
const DeleteDialog = lazy(async () => ({ default: (await loadDialogs()).DeleteDialog }));
const QrDialog = lazy(async () => ({ default: (await loadDialogs()).QrDialog }));

export type LinkDialogKind = "edit" | "qr" | "delete";

type LinkDialogProps = {
  kind: LinkDialogKind;
  link: Link | FullLink;
  onClose: () => void;
};

export const LinkDialog = ({ kind, link, onClose }: LinkDialogProps) => (
  <Suspense>
    {kind === "edit" && <EditDialog link={link} onClose={onClose} />}
    {kind === "qr" && <QrDialog link={link} onClose={onClose} />}
    {kind === "delete" && <DeleteDialog link={link} onClose={onClose} />}
  </Suspense>
);
