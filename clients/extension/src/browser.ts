/** What the pages of the extension have of the browser: settings, texts and the server. */
import { isReadByOthers } from "../../server-url.ts";
import { type Client, createClient } from "../../typescript/src/index.ts";

export type Settings = { server: string; key: string; domain: string; tags: string[] };

const NAME = "settings";

export async function readSettings(): Promise<Settings | undefined> {
  const { [NAME]: stored } = await chrome.storage.local.get(NAME);
  // Only `storeSettings` writes it.
  return stored as Settings | undefined;
}

export const storeSettings = (settings: Settings): Promise<void> =>
  chrome.storage.local.set({ [NAME]: settings });

/** Throws where others could read the key on its way. */
export function clientOf({ server, key }: Settings): Client {
  if (isReadByOthers(server)) throw new Error(textOf("plainText"));
  return createClient({ baseUrl: server, apiKey: key, retriesMax: 1, timeoutMs: 10_000 });
}

/** The permission to ask the browser for before the server can be called. */
export const originsOf = (server: string): string[] => [`${new URL(server).origin}/*`];

/** Puts the texts of the browser's language into a page. */
export function showTexts(): void {
  document.documentElement.lang = chrome.i18n.getUILanguage();
  for (const element of document.querySelectorAll("[data-text]"))
    element.textContent = textOf(element.getAttribute("data-text") ?? "");
}

export const textOf = (name: string): string => chrome.i18n.getMessage(name);

/** The element of a page with an id. */
export function element<Type extends HTMLElement>(id: string, type: new () => Type): Type {
  const found = document.querySelector(`#${id}`);
  if (!(found instanceof type)) throw new Error(`There is no ${id}.`);
  return found;
}

/** Says what went wrong, in the words of the API where it has answered. */
export function showError(error: unknown): void {
  const shown = element("error", HTMLElement);
  shown.textContent = error instanceof Error ? error.message : String(error);
  shown.hidden = false;
}
