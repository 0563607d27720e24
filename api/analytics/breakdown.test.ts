import { describe, expect, test } from "bun:test";

import { encodeId, newUuid } from "../../shared/ids.ts";
import { type Reader, readLinkNames } from "./breakdown.ts";

const [known, deleted] = [newUuid(), newUuid()];

const idOf = (uuid: string) => encodeId("link", uuid);

const NAME = { short_url: "https://sho.rt/a", title: "A" };

/** Names of the known link; counts the statements. */
function createLinks() {
  const asked: (readonly string[])[] = [];
  return {
    asked,
    getNames(_: unknown, ids: readonly string[]) {
      asked.push(ids);
      return Promise.resolve(new Map([[known, NAME]]));
    },
  };
}

const reader = (scopes: readonly string[]): Reader => ({
  accountId: newUuid(),
  mode: "live",
  plan: "free",
  scopes,
});

describe("names of links", () => {
  test("are read in one statement; a deleted link has none", async () => {
    const links = createLinks();
    const ids = [idOf(known), idOf(deleted)];
    const nameOf = await readLinkNames(links, reader(["analytics:read", "links:read"]), ids);
    expect(links.asked).toEqual([[known, deleted]]);
    expect(ids.map(nameOf)).toEqual([NAME, { short_url: null, title: null }]);
  });

  test("are not read for callers who may not read links", async () => {
    const links = createLinks();
    const nameOf = await readLinkNames(links, reader(["analytics:read"]), [idOf(known)]);
    expect([nameOf(idOf(known)), links.asked]).toEqual([{ short_url: null, title: null }, []]);
  });

  test("cost nothing without links", async () => {
    const links = createLinks();
    await readLinkNames(links, reader(["links:read"]), []);
    expect(links.asked).toEqual([]);
  });
});
