/** The options: where the server is, a key for it, and what new links have. */
import {
  clientOf,
  element,
  originsOf,
  readSettings,
  type Settings,
  showError,
  showTexts,
  storeSettings,
  textOf,
} from "./browser.ts";

const form = element("options", HTMLFormElement);
const status = element("status", HTMLElement);

showTexts();
form.addEventListener("submit", (event) => {
  event.preventDefault();
  status.textContent = "";
  element("error", HTMLElement).hidden = true;
  save().catch(showError);
});
const stored = await readSettings();
if (stored !== undefined)
  for (const [name, value] of Object.entries(stored)) input(name).value = String(value);

async function save(): Promise<void> {
  const settings = readForm();
  if (!URL.canParse(settings.server)) throw new Error(textOf("wrongServer"));
  const client = clientOf(settings);
  // The browser asks the user, and only on a click.
  const origins = originsOf(settings.server);
  if (!(await chrome.permissions.request({ origins })))
    throw new Error(textOf("refusedPermission"));
  // A key that does not work is said now, and not at the first link.
  await client.limits();
  await storeSettings(settings);
  status.textContent = textOf("saved");
}

const readForm = (): Settings => ({
  server: input("server").value.trim(),
  key: input("key").value.trim(),
  domain: input("domain").value.trim(),
  tags: input("tags")
    .value.split(",")
    .map((tag) => tag.trim())
    .filter((tag) => tag !== ""),
});

function input(name: string): HTMLInputElement {
  const found = form.elements.namedItem(name);
  if (!(found instanceof HTMLInputElement)) throw new Error(`There is no field ${name}.`);
  return found;
}
