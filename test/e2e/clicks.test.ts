/**
 * Goal: every redirect that was answered is one click in ClickHouse, in every rollup and on the link,
 * whichever process is killed meanwhile. Method: clients follow links without pause and count their
 * answers while `kill -9` goes round; in the end the sums must be equal. A redirect whose answer never
 * came because its redirector was killed may count or not.
 */
import { expect, test } from "bun:test";

import * as z from "zod";

import { decodeId } from "../../shared/ids.ts";
import { createAccount } from "../harness/admin.ts";
import { call, linkAnswer } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { type Stack, startStack } from "../harness/stack.ts";

const LINKS = 5;
const CLIENTS = 8;
const ANSWERS_MAX = 300_000;

/** Longest time until a killed process runs again, and until everything on its way has arrived. */
const RESTARTED_MS = 20_000;
const ARRIVED_MS = 60_000;

const VICTIMS = [
  "redirector",
  "worker",
  "nats",
  "clickhouse",
  "postgres",
  "redirector",
  "worker",
] as const;

test("clicks equal answers, per link, through kills of every process", async () => {
  await using stack = await startStack();
  const { key } = await createAccount(stack, "business");
  const links = await Promise.all(
    Array.from({ length: LINKS }, async (_, i) => {
      const { body } = await call(`${stack.info().api_url}/v1/links`, {
        key,
        body: { url: `https://example.com/${i}` },
      });
      return linkAnswer.parse(body);
    }),
  );
  const tallies = new Map(links.map(({ id }) => [id, { answered: 0, unsure: 0 }]));
  const refused: number[] = [];
  let stopped = false;

  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let i = client; !stopped && i < ANSWERS_MAX; i += CLIENTS) {
      const link = links[i % LINKS];
      const tally = tallies.get(link?.id ?? "");
      if (link === undefined || tally === undefined) return;
      const status = await follow(link.short_url, `198.51.100.${i % 200}`);
      if (status === undefined) tally.unsure++;
      else if (status === 302) tally.answered++;
      else refused.push(status);
    }
  });

  for (const victim of VICTIMS) {
    const pid = stack.info().pids[victim];
    process.kill(Number(pid), "SIGKILL");
    await eventually(async () => expect(stack.info().pids[victim]).not.toBe(pid), RESTARTED_MS);
  }
  stopped = true;
  await Promise.all(clients);
  expect(refused).toEqual([]);

  for (const { id } of links) {
    const { answered, unsure } = tallies.get(id) ?? { answered: 0, unsure: 0 };
    expect(answered).toBeGreaterThan(0);
    const stored = await eventually(async () => {
      const figures = await figuresOf(stack, id);
      expect(figures.clicks).toBeGreaterThanOrEqual(answered);
      const { body } = await call(`${stack.info().api_url}/v1/links/${id}`, { key });
      expect(linkAnswer.parse(body).clicks).toBe(figures.clicks);
      return figures;
    }, ARRIVED_MS);
    expect(stored.clicks).toBeLessThanOrEqual(answered + unsure);
    expect(stored).toEqual({
      clicks: stored.clicks,
      places: stored.clicks,
      rollup: stored.clicks,
      by_device: stored.clicks,
    });
  }
});

/** Follows a link once; undefined when the answer never came. */
async function follow(url: string, address: string): Promise<number | undefined> {
  try {
    const headers = { "x-forwarded-for": address };
    return (await fetch(url, { redirect: "manual", headers })).status;
  } catch {
    // Its redirector is gone; another takes a moment.
    await Bun.sleep(20);
    return undefined;
  }
}

const figures = z.object({
  clicks: z.coerce.number(),
  places: z.coerce.number(),
  rollup: z.coerce.number(),
  by_device: z.coerce.number(),
});

/** What ClickHouse holds of a link: rows, different places in journals, and both rollups. */
async function figuresOf(stack: Stack, id: string) {
  const uuid = `link_id = {link: UUID}`;
  const query = `
    SELECT (SELECT count() FROM clicks WHERE ${uuid}) AS clicks,
           (SELECT uniqExact((journal_id, page, idx)) FROM clicks WHERE ${uuid}) AS places,
           (SELECT sum(clicks) FROM clicks_15m WHERE ${uuid}) AS rollup,
           (SELECT sum(clicks) FROM clicks_15m_by WHERE ${uuid} AND dimension = 'device') AS by_device
    FORMAT JSONEachRow`;
  const parameters = new URLSearchParams({ query, param_link: decodeId("link", id) ?? "" });
  const answer = await fetch(`${stack.info().clickhouse_url}/?${parameters.toString()}`);
  return figures.parse(await answer.json());
}
