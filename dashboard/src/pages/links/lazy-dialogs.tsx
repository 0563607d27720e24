/** The dialogs of links: one script, which is loaded when the browser is idle, or one is opened. */
import type { FunctionComponent } from "react";

import type { FullLink, Link } from "../../../../clients/typescript/src/index.ts";
import { LoadingDialog } from "../../ui/dialog.tsx";
import { lazyPart, Script } from "../../ui/states.tsx";

export const linkDialogs = new Script(() => import("./dialogs.tsx"));

export const EditDialog = lazyPart(linkDialogs, (part) => part.EditDialog, LoadingDialog);
export const BulkDialog = lazyPart(linkDialogs, (part) => part.BulkDialog, LoadingDialog);
export const ReportDialog = lazyPart(linkDialogs, (part) => part.ReportDialog, LoadingDialog);
export const ExportDialog = lazyPart(linkDialogs, (part) => part.ExportDialog, LoadingDialog);
export const SavedDialog = lazyPart(linkDialogs, (part) => part.SavedDialog, LoadingDialog);

export const DeleteDialog = lazyPart(linkDialogs, (part) => part.DeleteDialog, LoadingDialog);
export const QrDialog = lazyPart(linkDialogs, (part) => part.QrDialog, LoadingDialog);

/** A dialog of one link. */
export type LinkDialog = FunctionComponent<{ link: Link | FullLink; onClose: () => void }>;
