/** Keyboard shortcuts: which key is which command, and where keys are none because somebody types. */

export type Command = "create" | "palette" | "search" | "shortcuts";

/** All shortcuts, as they are listed. */
export const SHORTCUTS: readonly { keys: readonly string[]; meaning: string }[] = [
  { keys: ["c"], meaning: "New link" },
  { keys: ["/"], meaning: "Search links" },
  { keys: ["Ctrl", "K"], meaning: "Commands: pages, actions and links; ⌘ K on a Mac" },
  { keys: ["?"], meaning: "These shortcuts" },
  { keys: ["Esc"], meaning: "Close a dialog; asks before what you have entered is lost" },
];

const SINGLE_KEYS: Readonly<Record<string, Command>> = {
  c: "create",
  "/": "search",
  "?": "shortcuts",
};

type Press = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">;

/**
 * Returns the command of a key. Only Ctrl or ⌘ with K is one among the combinations: the others are the browser's. Without
 * `singleKeys`, no key alone is a command.
 */
export function readShortcut(
  { key, ctrlKey, metaKey, altKey }: Press,
  singleKeys: boolean,
): Command | undefined {
  const name = key.toLowerCase();
  if (altKey) return undefined;
  if (ctrlKey || metaKey) return name === "k" && ctrlKey !== metaKey ? "palette" : undefined;
  return singleKeys ? SINGLE_KEYS[name] : undefined;
}

/** The types of an input that take no text. */
const WITHOUT_TEXT: ReadonlySet<string> = new Set([
  "button",
  "checkbox",
  "color",
  "file",
  "image",
  "radio",
  "range",
  "reset",
  "submit",
]);

/** What of an element says whether keys go into it; `tagName` is in capitals, as in HTML documents. */
export type KeyTarget = {
  tagName: string;
  type?: string;
  readOnly?: boolean;
  isContentEditable?: boolean;
  role?: string | null;
};

/** Whether keys that are pressed in an element are for it: text, or a choice by its first letters. */
export function takesKeys({
  tagName,
  type = "text",
  readOnly = false,
  isContentEditable = false,
  role = null,
}: KeyTarget): boolean {
  if (isContentEditable || role === "menuitem" || tagName === "SELECT") return true;
  const isText = tagName === "TEXTAREA" || (tagName === "INPUT" && !WITHOUT_TEXT.has(type));
  return isText && !readOnly;
}

const SETTING = "shorthop-single-keys";

/** Whether the user wants single keys to be commands: people who dictate may not. */
export const readSingleKeys = (): boolean => localStorage.getItem(SETTING) !== "off";

export function saveSingleKeys(on: boolean): void {
  if (on) localStorage.removeItem(SETTING);
  else localStorage.setItem(SETTING, "off");
}
