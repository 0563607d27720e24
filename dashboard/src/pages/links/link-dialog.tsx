/** The dialogs of a link, each loaded when it is first opened. */
import { Suspense } from "react";

import type { FullLink, Link } from "../../../../clients/typescript/src/index.ts";
import { lazyPart } from "../../ui/states.tsx";

const loadDialogs = () => import("./dialogs.tsx");

const EditDialog = lazyPart(loadDialogs, (part) => part.EditDialog);
const DeleteDialog = lazyPart(loadDialogs, (part) => part.DeleteDialog);
const QrDialog = lazyPart(loadDialogs, (part) => part.QrDialog);

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
