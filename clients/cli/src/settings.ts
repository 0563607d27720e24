/** Where the API is, and the key for it: of the environment, or as `shorthop login` stores them. */
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

import type { Command } from "commander";

import { isReadByOthers } from "../../server-url.ts";
import { type Client, createClient } from "../../typescript/src/index.ts";
import metadata from "../package.json" with { type: "json" };
import type { Environment, Terminal } from "./terminal.ts";

export type Login = { url: string; key: string };

/** There is no key, or none for this API. */
export class SignedOut extends Error {
  override name = "SignedOut";

  constructor() {
    super("Not signed in: run `shorthop login`, or set SHORTHOP_URL and SHORTHOP_KEY.");
  }
}

export class Settings {
  readonly #env: Environment;

  constructor(env: Environment) {
    this.#env = env;
  }

  /** The file of `login`; nobody else can read it. */
  get path(): string {
    const folder = this.#env["XDG_CONFIG_HOME"] ?? join(this.#env["HOME"] ?? homedir(), ".config");
    return join(folder, "shorthop", "login.json");
  }

  /** A client of the API; throws {@link SignedOut}. */
  client(): Client {
    const { url, key } = this.#read();
    this.requireSafe(url);
    return createClient({ baseUrl: url, apiKey: key });
  }

  /** Where the API is, for callers who have keys of their own; throws {@link SignedOut}. */
  url(): string {
    const url = this.#env["SHORTHOP_URL"] ?? readLogin(this.path)?.url;
    if (url === undefined) throw new SignedOut();
    this.requireSafe(url);
    return url;
  }

  /** Throws where others could read a key on its way, unless that is wanted. */
  requireSafe(url: string): void {
    if (isReadByOthers(url) && this.#env["SHORTHOP_ALLOW_HTTP"] !== "1")
      throw new Error(
        `A key would go to ${url} in plain text: use https, or set SHORTHOP_ALLOW_HTTP=1.`,
      );
  }

  store(login: Login): void {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
    writeFileSync(this.path, `${JSON.stringify(login)}\n`, { mode: 0o600 });
    // The mode above is that of a new file only.
    chmodSync(this.path, 0o600);
  }

  forget(): void {
    rmSync(this.path, { force: true });
  }

  /** A key is never sent to another API than the one that it was given for. */
  #read(): Login {
    const { SHORTHOP_URL: url, SHORTHOP_KEY: key } = this.#env;
    if (url !== undefined && key !== undefined) return { url, key };
    const stored = readLogin(this.path);
    if (stored === undefined) throw new SignedOut();
    if (url !== undefined && url !== stored.url) throw new SignedOut();
    return { url: stored.url, key: key ?? stored.key };
  }
}

function readLogin(path: string): Login | undefined {
  try {
    const read: unknown = JSON.parse(readFileSync(path, "utf8"));
    const [url, key] = ["url", "key"].map((name) => Reflect.get(Object(read), name));
    return typeof url === "string" && typeof key === "string" ? { url, key } : undefined;
  } catch {
    return undefined;
  }
}

export const { version } = metadata;

export function addLoginCommands(program: Command, settings: Settings, terminal: Terminal): void {
  program
    .command("login")
    .description("Store where the API is and an API key for it, in a file that only you can read")
    .argument("[url]", "where the API is, such as https://api.example.com")
    .action(async (given: string | undefined) => {
      const asked = given ?? (await terminal.ask("URL of the API: "));
      const url = asked.endsWith("/") ? asked.slice(0, -1) : asked;
      settings.requireSafe(url);
      const key = await terminal.ask("API key: ", { isSecret: true });
      // A key that does not work is said at once.
      await createClient({ baseUrl: url, apiKey: key }).limits();
      settings.store({ url, key });
      terminal.say(`Signed in to ${url}. The key is in ${settings.path}.`);
    });

  program
    .command("logout")
    .description("Forget the API key; it goes on working until it is revoked")
    .action(() => {
      settings.forget();
      terminal.say("Signed out.");
    });
}
