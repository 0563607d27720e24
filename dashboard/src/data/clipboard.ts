/**
 * The clipboard: writes a short URL when it is ready, and reads where the browser allows it without
 * asking.
 */

/**
 * Copies a text that is not available yet. Must be called while the user's click or key is being
 * handled: browsers allow a copy only then. Returns whether the text has been copied. Never throws,
 * even if the text rejects.
 */
export async function copyWhenReady(text: Promise<string>): Promise<boolean> {
  try {
    const content = text.then((ready) => new Blob([ready], { type: "text/plain" }));
    // The browser may reject the copy first; then nothing else here awaits the text.
    content.catch(() => undefined);
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": content })]);
    return true;
  } catch {
    // Some browsers lack clipboard items, or do not accept promises in them.
    return await text.then(copyText).catch(() => false);
  }
}

/**
 * Copies a text. Throws if the browser does not allow it or has no clipboard, as on a page without
 * https.
 */
async function copyText(text: string): Promise<boolean> {
  await navigator.clipboard.writeText(text);
  return true;
}

/** Whether the clipboard can be read: immediately, after the browser has asked, or not at all. */
export async function readPermission(): Promise<PermissionState> {
  try {
    // The type lists only the names that all browsers support; browsers without this one throw.
    const name = "clipboard-read" as PermissionName;
    return (await navigator.permissions.query({ name })).state;
  } catch {
    return "denied";
  }
}

/** Returns the text of the clipboard; "" if it has none or cannot be read. */
export async function readClipboard(): Promise<string> {
  try {
    return await navigator.clipboard.readText();
  } catch {
    return "";
  }
}
