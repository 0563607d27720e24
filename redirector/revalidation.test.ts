import { expect, test } from "bun:test";

import type { LinkRecord } from "../shared/contracts/link-record.ts";
import { newUuid } from "../shared/ids.ts";
import { createLog } from "../shared/log.ts";
import { createLinkCache } from "./cache/link-cache.ts";
import { revalidate } from "./revalidation.ts";

const active = (alias: string, version: number): LinkRecord => ({
  state: "active",
  version,
  domain: "",
  alias,
  link_id: newUuid(),
  account_id: newUuid(),
  mode: "live",
  destination: `https://example.com/${version}`,
  expires_at: null,
  password_hash: null,
  forward_query: false,
});

test("after a loss of the feed each cached link is read again, and answers with its old target until then", async () => {
  const cache = createLinkCache(4 * 1024 ** 2);
  const records = Array.from({ length: 100 }, (_, i) => active(`link-${i}`, 10));
  for (const record of records) cache.put(record);
  const versions = () =>
    new Map([...cache.records()].map(({ alias, version }) => [alias, version]));
  const stream = new Map([
    ["link-0", active("link-0", 11)],
    // The stream was rolled back: the cache knows a newer version.
    ["link-1", active("link-1", 9)],
    ["link-2", active("link-2", 10)],
  ]);
  let failures = 1;
  let entriesAtFirst = 0;
  await revalidate({
    cache,
    fetchLink: (_domain, alias) => {
      entriesAtFirst ||= cache.stats().entries;
      if (alias === "link-0" && failures-- > 0) return Promise.reject(new Error("no leader"));
      // Another change arrives while the link is being read.
      if (alias === "link-3") cache.put(active("link-3", 12));
      return Promise.resolve(stream.get(alias));
    },
    isCancelled: () => false,
    log: createLog("test", "silent"),
  });
  expect(entriesAtFirst).toBe(100);
  expect(versions()).toEqual(
    new Map([
      ["link-1", 10],
      ["link-2", 10],
      ["link-3", 12],
      ["link-0", 11],
    ]),
  );
});
