import { describe, expect, test } from "bun:test";

import { ApiError } from "../../http/errors.ts";
import type { DestinationDeps } from "../validation.ts";
import { requireUrls } from "./urls.ts";

/** Look-ups that never end before as many run as may run at once. */
function createDeps(customHosts: readonly string[] = []) {
  let running = 0;
  let highest = 0;
  const deps: DestinationDeps = {
    destinationRules: {
      allowPrivate: false,
      shortUrl: new URL("https://sho.rt"),
      ownHosts: new Set(["sho.rt"]),
    },
    domains: {
      async isCustom(host) {
        highest = Math.max(highest, ++running);
        await Bun.sleep(5);
        running--;
        return customHosts.includes(host);
      },
    },
  };
  return { deps, highest: () => highest };
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
  test("are looked up together, eight at once", async () => {
    const { deps, highest } = createDeps();
    await requireUrls({ rules: rulesOf(...manyUrls), expired_url: "https://example.com/" }, deps);
    expect(highest()).toBe(8);
  });

  test("fail by the first that is not valid, in the order of the fields", async () => {
    const { deps } = createDeps(["host-3.example.com"]);
    const rules = rulesOf(...manyUrls, "ftp://example.com/");
    expect(await problemOf(requireUrls({ rules }, deps))).toEqual(["invalid_url", "rules.3.url"]);
    expect(await problemOf(requireUrls({ rules, expired_url: "https://sho.rt/a" }, deps))).toEqual([
      "invalid_url",
      "expired_url",
    ]);
  });

  test("fail as a whole when a look-up fails", async () => {
    const { deps } = createDeps();
    const failure = new Error("The database is away.");
    deps.domains.isCustom = () => Promise.reject(failure);
    expect(await problemOf(requireUrls({ rules: rulesOf(...manyUrls) }, deps))).toBe(failure);
  });

  test("are none for a request without settings", async () => {
    const { deps, highest } = createDeps();
    await requireUrls({ rules: null, split: null, preview: null, expired_url: null }, deps);
    expect(highest()).toBe(0);
  });
});
