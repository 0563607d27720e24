/** The key of each command, and whether single keys are commands. */
import type { TextKey } from "../languages/translate.ts";

export type Command = "create" | "palette" | "search" | "shortcuts";

/** All shortcuts, in the order of the list. */
export const SHORTCUTS: readonly { keys: readonly string[]; meaning: TextKey }[] = [
  { keys: ["c"], meaning: "commands.newLink" },
  { keys: ["/"], meaning: "commands.meanings.search" },
  { keys: ["Ctrl", "K"], meaning: "commands.meanings.palette" },
  { keys: ["?"], meaning: "commands.meanings.shortcuts" },
  { keys: ["Esc"], meaning: "commands.meanings.close" },
];

const SINGLE_KEYS: Readonly<Record<string, Command>> = {
  c: "create",
  "/": "search",
  "?": "shortcuts",
};

type KeyPress = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">;

/**
 * Returns the command of a key. The only combination is Ctrl or ⌘ with K: the others belong to the
 * browser. Without `singleKeys`, single keys have no command.
 */
export function readShortcut(
  { key, ctrlKey, metaKey, altKey }: KeyPress,
  singleKeys: boolean,
): Command | undefined {
  const name = key.toLowerCase();
  if (altKey) return undefined;
  if (ctrlKey || metaKey) return name === "k" && ctrlKey !== metaKey ? "palette" : undefined;
  return singleKeys ? SINGLE_KEYS[name] : undefined;
}

const SETTING = "shorthop-single-keys";

/** Whether the user wants single keys to be commands, which interferes with dictation. */
export const readSingleKeys = (): boolean => localStorage.getItem(SETTING) !== "off";

export function saveSingleKeys(on: boolean): void {
  if (on) localStorage.removeItem(SETTING);
  else localStorage.setItem(SETTING, "off");
}
