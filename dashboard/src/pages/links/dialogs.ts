/** The dialogs of links: one script, loaded when the browser is idle. */
export { SavedDialog } from "../saved-dialog.tsx";
export { BulkDialog, ReportDialog } from "./bulk-dialogs.tsx";
export { DeleteDialog } from "./delete-dialog.tsx";
export { EditDialog } from "./edit-dialog.tsx";
export { ExportDialog } from "./export-dialog.tsx";
export { QrDialog } from "./qr-dialog.tsx";
