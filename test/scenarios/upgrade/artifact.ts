/**
 * What an installation of a release leaves behind, as a file of this folder: its backup, as
 * `shorthop backup` writes it, the links store and the journal of a host, the streams of NATS, and
 * what its API and its visitors saw.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import { type Client, createClient } from "../../../clients/typescript/src/index.ts";
import { run } from "../../../deploy/packages/run.ts";
import { callOnce, CHROME } from "../../harness/api.ts";
import type { SharedStack } from "../../harness/stack.ts";

/** In the data directory: the backup, beside what the local stack has there. */
export const BACKUP = "backup";
const RECORDED = "recorded.json";
/** What `shorthop audit verify --json` printed. */
export const CHAINS = "chains.json";

/** Neither the stores, which the backup has, nor logs. */
const PARTS = [BACKUP, "journal", "links", "nats", "secrets.json", RECORDED, CHAINS];

/** What redirectors reserve on the disk has nothing in it. */
const LEFT_OUT = "--exclude=*.reserve";

const path = (release: string): string => join(import.meta.dir, `${release}.tar.gz`);

export const pack = (release: string, dataDir: string): string => {
  tar(["--create", "--use-compress-program=gzip -9n", LEFT_OUT], release, dataDir, PARTS);
  return path(release);
};

export function unpack(release: string, dataDir: string): void {
  mkdirSync(dataDir);
  tar(["--extract", "--gzip", "--no-same-owner"], release, dataDir, []);
}

const tar = (options: readonly string[], release: string, dir: string, files: readonly string[]) =>
  void run(["tar", ...options, `--file=${path(release)}`, ...files], dir);

/** What the API says. */
const state = z.object({
  links: z.array(z.looseObject({ id: z.string(), clicks: z.int() })),
  clicks: z.array(z.looseObject({ link_id: z.string() })),
  events: z.array(z.object({ id: z.string(), type: z.string() })),
  /** Lists of what else the account has. */
  others: z.record(z.string(), z.array(z.unknown())),
});

export type State = z.output<typeof state>;

const recorded = z.object({
  /** The keys of an account in both modes. */
  keys: z.object({ live: z.string(), test: z.string() }),
  /** The record that proves the account's domain. */
  proof: z.object({ name: z.string(), value: z.string() }),
  /** The paths of short URLs, some with a query, and what a visitor got. */
  visits: z.array(z.object({ path: z.string(), host: z.string(), answer: z.array(z.unknown()) })),
  /** A link whose clicks are in the journal only, and how many there are. */
  waiting: z.object({ link: z.string(), clicks: z.int() }),
  state,
});

export type Recorded = z.output<typeof recorded>;

export const readRecorded = (dataDir: string): Recorded =>
  recorded.parse(JSON.parse(readFileSync(join(dataDir, RECORDED), "utf8")));

export const writeRecorded = (dataDir: string, value: Recorded): void =>
  writeFileSync(join(dataDir, RECORDED), JSON.stringify(value));

export const clientOf = (stack: SharedStack, apiKey: string): Client =>
  createClient({ baseUrl: stack.info().api_url, apiKey });

/** Visits a short URL as a person; returns the status and where it leads. */
export async function visit(stack: SharedStack, path: string, host: string): Promise<unknown[]> {
  const headers = { "user-agent": CHROME, "accept-language": "de", host };
  const response = await callOnce(new URL(path, stack.info().short_url).href, { headers });
  return [response.status, response.headers.get("location")];
}

/** All that the API says of an account, but for what depends on the time and the ports. */
export async function readState(stack: SharedStack, keys: Recorded["keys"]): Promise<State> {
  const client = clientOf(stack, keys.live);
  const { id } = await client.links.lookUp({ alias: "plain" });
  return state.parse({
    links: [...(await readLinks(client)), ...(await readLinks(clientOf(stack, keys.test)))],
    clicks: await Array.fromAsync(client.clicks.all({ period: "all", class: ALL_CLASSES })),
    events: await readEvents(client),
    others: {
      countries: (await client.analytics.geo(id, { period: "all" })).data,
      tags: (await client.tags.list()).data,
      shares: await Array.fromAsync(client.shares.all(), (share) => ({ ...share, url: "" })),
    },
  });
}

const ALL_CLASSES = ["human", "bot", "prefetch"];

async function readLinks(client: Client) {
  const query = { archived: "any", include: "settings" } as const;
  const links = await Array.fromAsync(client.links.all(query));
  return links.map((link) => ({ ...link, short_url: new URL(link.short_url).pathname }));
}

/** The ids and types of all events of the feed. */
async function readEvents(client: Client) {
  const events: { id: string; type: string }[] = [];
  for (let position = {}; ;) {
    const { data, next_cursor } = await client.events.list({ limit: 100, ...position });
    if (data.length === 0) return events;
    events.push(...data.map(({ id, type }) => ({ id, type })));
    position = { starting_after: next_cursor };
  }
}
