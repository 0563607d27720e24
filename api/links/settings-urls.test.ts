import { describe, expect, test } from "bun:test";

import { ApiError } from "../http/errors.ts";
import type { CustomHosts, DestinationRules } from "./destinations.ts";
import { requireUrls, type SettingsBody } from "./settings.ts";

const RULES: DestinationRules = {
  allowPrivate: false,
  shortUrl: new URL("https://sho.rt"),
  ownHosts: new Set(["sho.rt"]),
};

/** Look-ups that never end before as many run as may run at once. */
class SlowHosts implements CustomHosts {
  highest = 0;
  #running = 0;
  readonly #custom: readonly string[];

  constructor(...custom: string[]) {
    this.#custom = custom;
  }

  async isCustom(host: string): Promise<boolean> {
    this.highest = Math.max(this.highest, ++this.#running);
    await Bun.sleep(5);
    this.#running--;
    return this.#custom.includes(host);
  }
}

const rulesOf = (...urls: string[]) =>
  urls.map((url) => ({ url, conditions: [{ type: "query" as const, name: "a" }] }));

const manyUrls = Array.from({ length: 20 }, (_, i) => `https://host-${i}.example.com/`);

/** The field that the error names. */
const problemOf = async (run: Promise<void>): Promise<unknown> =>
  await run.then(
    () => undefined,
    (error: unknown) => (error instanceof ApiError ? [error.reason, error.param] : error),
  );

describe("the URLs of settings", () => {
  test("fail by the first that is not valid, in the order of the fields", async () => {
    const hosts = new SlowHosts("host-3.example.com");
    const rules = rulesOf(...manyUrls, "ftp://example.com/");
    const check = (body: SettingsBody) => problemOf(requireUrls(body, RULES, hosts));
    expect(await check({ rules })).toEqual(["invalid_url", "rules.3.url"]);
    expect(await check({ rules, expired_url: "https://sho.rt/a" })).toEqual([
      "invalid_url",
      "expired_url",
    ]);
  });

  test("fail as a whole when a look-up fails", async () => {
    const failure = new Error("The database is away.");
    const hosts = { isCustom: () => Promise.reject(failure) };
    const body = { rules: rulesOf(...manyUrls) };
    expect(await problemOf(requireUrls(body, RULES, hosts))).toBe(failure);
  });
});
