/** The dialogs of links: one script, which is loaded when the browser is idle, or one is opened. */
import type { FullLink, Link } from "../../../../clients/typescript/src/index.ts";
import { lazyPart } from "../../ui/states.tsx";

export const loadLinkDialogs = () => import("./dialogs.tsx");

export const EditDialog = lazyPart(loadLinkDialogs, (part) => part.EditDialog);
export const BulkDialog = lazyPart(loadLinkDialogs, (part) => part.BulkDialog);
export const ReportDialog = lazyPart(loadLinkDialogs, (part) => part.ReportDialog);
export const ExportDialog = lazyPart(loadLinkDialogs, (part) => part.ExportDialog);
export const SavedDialog = lazyPart(loadLinkDialogs, (part) => part.SavedDialog);

const DeleteDialog = lazyPart(loadLinkDialogs, (part) => part.DeleteDialog);
const QrDialog = lazyPart(loadLinkDialogs, (part) => part.QrDialog);

export type LinkDialogKind = "edit" | "qr" | "delete";

type LinkDialogProps = {
  kind: LinkDialogKind;
  link: Link | FullLink;
  onClose: () => void;
};

const DIALOGS = { edit: EditDialog, qr: QrDialog, delete: DeleteDialog };

export function LinkDialog({ kind, ...props }: LinkDialogProps) {
  const Chosen = DIALOGS[kind];
  return <Chosen {...props} />;
}
