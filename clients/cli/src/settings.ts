/** Where the API is, and the key for it: of the environment, or as `login` has stored them. */
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

import { isReadByOthers } from "../../server-url.ts";
import { type Client, createClient } from "../../typescript/src/index.ts";
import metadata from "../package.json" with { type: "json" };

export type Environment = Readonly<Record<string, string | undefined>>;

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
