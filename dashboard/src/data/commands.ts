/** The commands that every page can run: a new link, the palette and the list of shortcuts. */
import { createContext, useContext } from "react";

import type { ResponseBody } from "../../../clients/typescript/src/index.ts";

/** What a new link starts from: a destination, or another link by its id. */
export type NewLinkStart = { url?: string; copyOf?: string };

/** A link that was just created, for the panel that shows it. */
export type CreatedLink = {
  link: ResponseBody<"createLink">;
  /** Whether its short URL is in the clipboard. */
  copied: Promise<boolean>;
};

export type Commands = {
  createLink: (start?: NewLinkStart) => void;
  openPalette: () => void;
  openShortcuts: () => void;
};

export const CommandsContext = createContext<Commands | undefined>(undefined);

/** Returns the commands. Throws outside of an account's pages. */
export function useCommands(): Commands {
  const commands = useContext(CommandsContext);
  if (commands === undefined) throw new Error("There are no commands here.");
  return commands;
}
