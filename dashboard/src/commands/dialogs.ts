/** The dialogs of commands: one script, loaded when the browser is idle. */
export { Palette } from "./palette.tsx";
export { ShortcutsDialog } from "./shortcuts-dialog.tsx";
