/** The pages and actions that the palette offers to the current user. */
import { useLocation } from "wouter";

import { useCommands } from "../data/commands.ts";
import { getErrorMessage } from "../data/errors.ts";
import { useAccountContext, useCanWrite, useSignOut } from "../data/session.ts";
import { t } from "../languages/translate.ts";
import { MAIN_ITEMS, settingsItems } from "../nav-items.ts";
import { applyTheme, THEMES } from "../ui/theme.ts";
import { toast } from "../ui/toast.tsx";
import { type PaletteItem, readDestination } from "./palette-items.ts";

const THEME_NAMES = {
  system: "commands.themes.system",
  light: "commands.themes.light",
  dark: "commands.themes.dark",
} as const;

const SWITCHES = { live: "commands.switchToLive", test: "commands.switchToTest" } as const;

export function usePages(): PaletteItem[] {
  const { account } = useAccountContext();
  const [, navigate] = useLocation();
  return [...MAIN_ITEMS, ...settingsItems(account.role)].map(({ path, name }) => ({
    id: path,
    name: t(name),
    detail: t("commands.page"),
    onSelect: () => navigate(path),
  }));
}

const action = (
  name: string,
  onSelect: () => void,
  detail = t("commands.action"),
): PaletteItem => ({
  id: `${name} ${detail}`,
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
      ? [action(t("commands.newLinkTo"), () => createLink({ url }), text.trim())]
      : []),
    ...(canWrite
      ? [
          action(t("commands.newLink"), () => createLink()),
          action(t("commands.importLinks"), () => navigate("/links/import")),
        ]
      : []),
    action(t("commands.shortcuts"), openShortcuts),
    action(t(SWITCHES[otherMode]), () => navigate(`~/${account.id}/${otherMode}/links`)),
    ...session.accounts
      .filter(({ id }) => id !== account.id)
      .map(({ id, name }) =>
        action(name, () => navigate(`~/${id}/${mode}/links`), t("commands.account")),
      ),
    ...THEMES.map((theme) => action(t(THEME_NAMES[theme]), () => applyTheme(theme))),
    action(
      t("shell.signOut"),
      () => void signOut().catch((error: unknown) => toast(getErrorMessage(error), "error")),
    ),
  ];
}
