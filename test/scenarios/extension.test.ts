/**
 * Goal: the browser extension shortens a tab, copies the short URL, and says what went wrong. Its
 * screens are in `.local/extension-screens`.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

import { type BrowserContext, chromium, type Page } from "playwright-core";
import * as z from "zod";

import { EXTENSION } from "../../clients/extension/build.ts";
import { findFreePort } from "../../deploy/local/ports.ts";
import { createAccount } from "../harness/admin.ts";
import { CHROMIUM_ARGUMENTS } from "../harness/browser.ts";
import { eventually } from "../harness/eventually.ts";
import { readFirstLines, run } from "../harness/packed-client.ts";
import { PROJECT_DIR, type Stack, startStack } from "../harness/stack.ts";

const SCREENS = join(PROJECT_DIR, ".local/extension-screens");

/** The shell that other tests use has no extensions. */
const CHROMIUM = Bun.which("chromium") ?? Bun.which("google-chrome");

if (CHROMIUM === null) console.warn("!!! There is no Chromium with extensions: NOT TESTED HERE");

/** The id that Chromium gives to an extension in a folder. */
const idOf = (folder: string): string =>
  createHash("sha256")
    .update(folder)
    .digest("hex")
    .slice(0, 32)
    .replaceAll(/./g, (digit) => String.fromCodePoint(97 + Number.parseInt(digit, 16)));

let stack: Stack;
let profile: string;
let browser: BrowserContext;
let key: string;
const debugPort = findFreePort();

beforeAll(async () => {
  if (CHROMIUM === null) return;
  mkdirSync(SCREENS, { recursive: true });
  profile = mkdtempSync(join(tmpdir(), "shorthop-extension-"));
  stack = await startStack({ empty: true });
  ({ key } = await createAccount(stack, "enterprise"));
  followFirstLines();
  allowCalls(new URL(stack.info().api_url).origin);
  browser = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM,
    headless: false,
    permissions: ["clipboard-read", "clipboard-write"],
    args: [
      "--headless=new",
      `--remote-debugging-port=${debugPort}`,
      ...CHROMIUM_ARGUMENTS,
      `--disable-extensions-except=${EXTENSION}`,
      `--load-extension=${EXTENSION}`,
    ],
  });
}, 120_000);
afterAll(async () => {
  if (CHROMIUM === null) return;
  await browser.close();
  await stack[Symbol.asyncDispose]();
  rmSync(profile, { recursive: true, force: true });
});

/** Builds it by the first lines of its page, which name the folder that the browser loads. */
function followFirstLines(): void {
  const lines = readFirstLines("clients/extension/README.md");
  run(["sh", "-e", "-c", lines], PROJECT_DIR);
  expect(lines).toContain(`Load unpacked → ${relative(PROJECT_DIR, EXTENSION)}\n`);
}

/** What a user does who accepts the question of the browser, which a program cannot. */
function allowCalls(origin: string): void {
  const path = join(EXTENSION, "manifest.json");
  const manifest: object = JSON.parse(readFileSync(path, "utf8"));
  writeFileSync(path, JSON.stringify({ ...manifest, host_permissions: [`${origin}/*`] }));
}

const openPage = async (name: string): Promise<Page> => {
  const page = await browser.newPage();
  await page.goto(`chrome-extension://${idOf(EXTENSION)}/${name}`);
  return page;
};

async function saveOptions(server: string, apiKey: string): Promise<Page> {
  const page = await openPage("options.html");
  await page.getByLabel("Server").fill(server);
  await page.getByLabel("API key").fill(apiKey);
  await page.getByLabel("Tags").fill("from browser, x");
  await page.getByRole("button", { name: "Save" }).click();
  return page;
}

/**
 * The popup of the extension, which the driver of the browser does not show as a page: it is spoken
 * to over the browser's own protocol.
 */
class Popup {
  readonly #socket: WebSocket;
  #calls = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  /** Opens it over a page, as a click on the icon does. */
  static async open(options: Page, over: Page): Promise<Popup> {
    await over.bringToFront();
    await options.evaluate(() => Reflect.get(globalThis, "chrome").action.openPopup());
    const address = await eventually(findPopup);
    const socket = new WebSocket(address);
    await new Promise((resolve) => socket.addEventListener("open", resolve, { once: true }));
    return new Popup(socket);
  }

  /** The text of an element of the page, or the value of a field. */
  async read(selector: string): Promise<string> {
    const expression = `(({ value, textContent }) => value ?? textContent)(document.querySelector("${selector}"))`;
    const { result } = await this.#call("Runtime.evaluate", { expression }, evaluated);
    return result.value;
  }

  async screenshot(path: string): Promise<void> {
    const { data } = await this.#call("Page.captureScreenshot", {}, captured);
    writeFileSync(path, Buffer.from(data, "base64"));
  }

  async close(): Promise<void> {
    this.#socket.send(JSON.stringify({ id: ++this.#calls, method: "Page.close" }));
    await eventually(async () => {
      expect(await listTargets()).not.toContainEqual(expect.objectContaining({ url: POPUP_URL }));
    });
  }

  async #call<Schema extends z.ZodType>(
    method: string,
    params: object,
    schema: Schema,
  ): Promise<z.output<Schema>> {
    const id = ++this.#calls;
    const answer = new Promise<unknown>((resolve) => {
      const listen = ({ data }: MessageEvent): void => {
        const message: unknown = JSON.parse(String(data));
        if (Reflect.get(Object(message), "id") !== id) return;
        this.#socket.removeEventListener("message", listen);
        resolve(Reflect.get(Object(message), "result"));
      };
      this.#socket.addEventListener("message", listen);
    });
    this.#socket.send(JSON.stringify({ id, method, params }));
    return schema.parse(await answer);
  }
}

const evaluated = z.object({ result: z.object({ value: z.string() }) });
const captured = z.object({ data: z.string() });
const targets = z.array(z.looseObject({ url: z.string(), webSocketDebuggerUrl: z.string() }));

const POPUP_URL = `chrome-extension://${idOf(EXTENSION)}/popup.html`;

const listTargets = async () =>
  targets.parse(await (await fetch(`http://127.0.0.1:${debugPort}/json/list`)).json());

async function findPopup(): Promise<string> {
  const popup = (await listTargets()).find(({ url }) => url === POPUP_URL);
  if (popup === undefined) throw new Error("The popup has not opened.");
  return popup.webSocketDebuggerUrl;
}

const textOf = (page: Page, role: "status" | "alert"): Promise<string | null> =>
  page.getByRole(role).filter({ hasText: /./ }).textContent();

test.skipIf(CHROMIUM === null)(
  "a key that does not work is refused as the options are saved",
  async () => {
    const page = await saveOptions(stack.info().api_url, "sk_live_wrong");
    expect(await textOf(page, "alert")).toContain("API key");
    await page.screenshot({ path: join(SCREENS, "options-refused.png") });
    await page.close();
  },
  60_000,
);

test.skipIf(CHROMIUM === null)(
  "a tab is shortened once, and its short URL copied",
  async () => {
    const options = await saveOptions(stack.info().api_url, key);
    expect(await textOf(options, "status")).toContain("Saved");
    await options.screenshot({ path: join(SCREENS, "options.png") });
    const page = await browser.newPage();
    await page.goto(`${stack.info().api_url}/docs/errors`);
    // As Google's pages in Hebrew have it.
    await page.evaluate(String.raw`document.title = "\u202b\u05d0\u202c\u200f"`);
    const shown: string[] = [];
    for (const time of ["first", "second"]) {
      const popup = await Popup.open(options, page);
      await eventually(async () => expect(await popup.read("#status")).toBe("Copied"));
      shown.push(await popup.read("#short-url"));
      await popup.screenshot(join(SCREENS, `popup-${time}.png`));
      await popup.close();
    }
    expect(shown[0]).toStartWith(stack.info().short_url);
    expect(shown[1]).toBe(shown[0]);
    const copied = await page.evaluate("navigator.clipboard.readText()");
    expect(copied).toBe(shown[0] ?? "");
    const { status, headers } = await fetch(shown[0] ?? "", { redirect: "manual" });
    expect([status, headers.get("location")]).toEqual([302, `${stack.info().api_url}/docs/errors`]);
  },
  60_000,
);

test.skipIf(CHROMIUM === null)(
  "a page of the browser is not shortened, which is said",
  async () => {
    const options = await saveOptions(stack.info().api_url, key);
    expect(await textOf(options, "status")).toContain("Saved");
    const page = await browser.newPage();
    await page.goto("about:blank");
    const popup = await Popup.open(options, page);
    await eventually(async () => {
      expect(await popup.read("#error")).toContain("cannot be shortened");
    });
    await popup.screenshot(join(SCREENS, "popup-refused.png"));
  },
  60_000,
);
