/** The clipboard: written when a short URL is ready, read where the browser allows it without asking. */

/**
 * Copies a text that is not there yet. Call it while the user's click or key is being handled: browsers allow a copy only
 * then. Returns whether the text has been copied; never throws, also not when the text does.
 */
export async function copyWhenReady(text: Promise<string>): Promise<boolean> {
  try {
    const content = text.then((ready) => new Blob([ready], { type: "text/plain" }));
    // The browser may reject the copy first, and then nobody waits for the text here.
    content.catch(() => undefined);
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": content })]);
    return true;
  } catch {
    // Some browsers have no such items, or take no promises for them.
    return await text.then(copyText).catch(() => false);
  }
}

/** Copies a text. Throws where the browser does not allow it, or has no clipboard, as on a page without https. */
async function copyText(text: string): Promise<boolean> {
  await navigator.clipboard.writeText(text);
  return true;
}

/** Whether the clipboard can be read: at once, after the browser has asked, or not at all. */
export async function readPermission(): Promise<PermissionState> {
  try {
    // The type has the names that all browsers know; those that do not know this one throw.
    const name = "clipboard-read" as PermissionName;
    return (await navigator.permissions.query({ name })).state;
  } catch {
    return "denied";
  }
}

/** Returns the text of the clipboard; "" where it has none, or cannot be read. */
export async function readClipboard(): Promise<string> {
  try {
    return await navigator.clipboard.readText();
  } catch {
    return "";
  }
}
