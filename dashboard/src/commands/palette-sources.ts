/** The pages and actions that the palette offers to the current user. */
import { useLocation } from "wouter";

import { useCommands } from "../data/commands.ts";
import { getErrorMessage } from "../data/errors.ts";
import { useAccountContext, useCanWrite, useSignOut } from "../data/session.ts";
import { MAIN_ITEMS, settingsItems } from "../nav-items.ts";
import { applyTheme, THEMES } from "../ui/theme.ts";
import { toast } from "../ui/toast.tsx";
import { type PaletteItem, readDestination } from "./palette-items.ts";

const THEME_NAMES = { system: "System theme", light: "Light theme", dark: "Dark theme" } as const;

export function usePages(): PaletteItem[] {
  const { account } = useAccountContext();
  const [, navigate] = useLocation();
  return [...MAIN_ITEMS, ...settingsItems(account.role)].map(({ path, name }) => ({
    id: path,
    group: "Pages",
    name,
    detail: "Page",
    onSelect: () => navigate(path),
  }));
}

const action = (name: string, onSelect: () => void, detail = "Action"): PaletteItem => ({
  id: `${name} ${detail}`,
  group: "Actions",
  name,
  detail,
  onSelect,
});

/** Actions. If the text is a destination, the first one creates a link to it. */
export function useActions(text: string): PaletteItem[] {
  const { session, account, mode } = useAccountContext();
  const canWrite = useCanWrite();
  const { createLink, openShortcuts } = useCommands();
  const signOut = useSignOut();
  const [, navigate] = useLocation();
  const url = readDestination(text);
  const otherMode = mode === "live" ? "test" : "live";
  return [
    ...(canWrite && url !== undefined
      ? [action("New link to", () => createLink({ url }), text.trim())]
      : []),
    ...(canWrite
      ? [
          action("New link", () => createLink()),
          action("Import links", () => navigate("/links/import")),
        ]
      : []),
    action("Keyboard shortcuts", openShortcuts),
    action(`Switch to ${otherMode} mode`, () => navigate(`~/${account.id}/${otherMode}/links`)),
    ...session.accounts
      .filter(({ id }) => id !== account.id)
      .map(({ id, name }) => action(name, () => navigate(`~/${id}/${mode}/links`), "Account")),
    ...THEMES.map((theme) => action(THEME_NAMES[theme], () => applyTheme(theme))),
    action(
      "Sign out",
      () => void signOut().catch((error: unknown) => toast(getErrorMessage(error), "error")),
    ),
  ];
}
