/** The popup: shortens the tab as it opens, copies the short URL, and says what went wrong. */
import { toSingleLine } from "../../../shared/contracts/text.ts";
import {
  clientOf,
  element,
  originsOf,
  readSettings,
  type Settings,
  showError,
  showTexts,
  textOf,
} from "./browser.ts";

/** The most characters of a title that the API takes. */
const TITLE_LENGTH_MAX = 255;

const status = element("status", HTMLElement);
const shortUrl = element("short-url", HTMLInputElement);

showTexts();
element("copy", HTMLButtonElement).addEventListener("click", () => void copy());
element("open-options", HTMLButtonElement).addEventListener(
  "click",
  () => void chrome.runtime.openOptionsPage(),
);
await shortenTab().catch((error: unknown) => {
  status.textContent = "";
  showError(error);
});

async function shortenTab(): Promise<void> {
  const settings = await readSettings();
  if (settings === undefined) return offerOptions("notConfigured");
  const [tab] = await chrome.tabs.query({ active: true, currentWindow: true });
  const url = tab?.url ?? "";
  if (!/^https?:/.test(url)) throw new Error(textOf("notShortened"));
  if (!(await chrome.permissions.contains({ origins: originsOf(settings.server) })))
    return offerOptions("noPermission");
  status.textContent = textOf("shortening");
  shortUrl.value = await shorten(settings, url, tab?.title ?? "");
  element("result", HTMLElement).hidden = false;
  await copy();
}

/** A second click on the same page shows its link again, and makes no other. */
async function shorten(settings: Settings, url: string, title: string): Promise<string> {
  const { domain, tags, server } = settings;
  const name = `link ${server} ${domain} ${url}`;
  const { [name]: before } = await chrome.storage.session.get(name);
  if (typeof before === "string") return before;
  const link = await clientOf(settings).links.create({
    url,
    title: toSingleLine(title).slice(0, TITLE_LENGTH_MAX).toWellFormed() || null,
    ...(domain === "" ? {} : { domain }),
    ...(tags.length === 0 ? {} : { tags }),
  });
  await chrome.storage.session.set({ [name]: link.short_url });
  return link.short_url;
}

async function copy(): Promise<void> {
  await navigator.clipboard.writeText(shortUrl.value);
  status.textContent = textOf("copied");
}

function offerOptions(reason: string): void {
  status.textContent = textOf(reason);
  element("open-options", HTMLButtonElement).hidden = false;
}
