/** Goal: what the client reads part by part from a real API has each entry once. */
import { expect, test } from "bun:test";

import { createClient } from "../../clients/typescript/src/index.ts";
import { createAccount, UNLIMITED } from "../harness/admin.ts";
import { forFile } from "../harness/for-file.ts";
import { useStack } from "../harness/stack.ts";

const stack = await forFile(useStack());
const { key } = await createAccount(stack, "enterprise", UNLIMITED);
const shorthop = createClient({ baseUrl: stack.info().api_url, apiKey: key });

test("iterators over domains and shares meet every entry once, also when each is deleted as it is met", async () => {
  const { domains, shares } = shorthop;
  const count = 105;
  const created = { domains: new Set<string>(), shares: new Set<string>() };
  for (let i = 0; i < count; i++) {
    const [domain, share] = await Promise.all([
      domains.create(`d${i}.many.example`),
      shares.create({ name: `Share ${i}` }),
    ]);
    created.domains.add(domain.id);
    created.shares.add(share.id);
  }
  const met = { domains: [] as string[], shares: [] as string[] };
  for await (const { id } of domains.all()) {
    if (!created.domains.has(id)) continue;
    met.domains.push(id);
    await domains.delete(id);
  }
  for await (const { id } of shares.all()) {
    if (!created.shares.has(id)) continue;
    met.shares.push(id);
    await shares.revoke(id);
  }
  expect(met.domains.toSorted()).toEqual([...created.domains].toSorted());
  expect(met.shares.toSorted()).toEqual([...created.shares].toSorted());
});

test("live clicks are those of the filter, each once, and go on where a client left off", async () => {
  const { id, short_url } = await shorthop.links.create({ url: "https://example.com/live" });
  const visit = async (address: string, site = "wanted"): Promise<void> => {
    const referer = `https://${site}.com/`;
    const headers = { "user-agent": "curl/8", "x-forwarded-for": address, referer };
    await fetch(short_url, { redirect: "manual", headers });
  };
  const stop = new AbortController();
  const watch = (lastEventId?: string) =>
    shorthop.analytics.stream(id, {
      filters: { referrer: "wanted.com" },
      signal: stop.signal,
      ...(lastEventId === undefined ? {} : { lastEventId }),
    });
  const stream = watch();
  const first = stream.next();
  // Its clicks begin when it is open.
  const opening = setInterval(() => {
    for (const site of ["unwanted", "wanted"]) void visit("8.8.8.8", site);
  }, 500);
  const { value: seen } = await first;
  clearInterval(opening);
  expect(seen).toMatchObject({ class: "human", country: "US", referrer: "wanted.com" });
  expect(JSON.stringify(seen)).not.toContain("8.8.8.8");
  await visit("81.2.69.142");
  const ids = [seen?.id ?? ""];
  for await (const click of stream) {
    ids.push(click.id);
    if (click.country === "GB") break;
  }
  await visit("127.0.0.1");
  const again = [seen?.id ?? ""];
  for await (const click of watch(seen?.id)) {
    if (click.country === "ZZ") break;
    again.push(click.id);
  }
  stop.abort();
  expect(again.toSorted()).toEqual(ids.toSorted());
  expect(new Set(ids).size).toBe(ids.length);
});
