/** The dialogs that most visits open, if any: one script, loaded when the browser is idle. */
export { Palette } from "../commands/palette.tsx";
export { ShortcutsDialog } from "../commands/shortcuts-dialog.tsx";
export { BulkDialog, ReportDialog } from "./links/bulk-dialogs.tsx";
export { DeleteDialog } from "./links/delete-dialog.tsx";
export { EditDialog } from "./links/edit-dialog.tsx";
export { ExportDialog } from "./links/export-dialog.tsx";
export { QrDialog } from "./links/qr-dialog.tsx";
