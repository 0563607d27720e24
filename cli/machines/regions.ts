/**
 * `shorthop region …`: the streams of several regions (docs/regions.md). API and workers are in the
 * hub. In a far region redirectors read mirrors of the links log's tail and of its snapshots, under
 * the same names, and publish to the region's own `CLICKS`, which is a source of the hub's
 * `CLICKS`. Each region is a JetStream domain; requests and messages cross between them over leaf
 * nodes.
 */
import { type Command, InvalidArgumentError } from "commander";
import {
  DiscardPolicy,
  type ExternalStream,
  type JetStreamManager,
  nanos,
  StorageType,
  type StreamConfig,
  type StreamSourceInfo,
} from "nats";

import {
  CLICKS_STREAM,
  ensureClicksStream,
  unlessNoStream,
} from "../../shared/contracts/streams.ts";
import { DAY_MS } from "../../shared/durations.ts";
import { SNAPSHOTS_STREAM } from "../../shared/links-log/snapshots.ts";
import { LINK_LOG_STREAM, LONG_TAIL_BYTES, readLastMessage } from "../../shared/links-log/tail.ts";
import { parseCount } from "../arguments.ts";
import type { Installation } from "../installation.ts";
import { mustExist, print, printList } from "../output.ts";

/** Runs `work` on the streams of a region, and records the command unless it only reads. */
type WithStreams = (
  work: (manager: JetStreamManager) => Promise<void>,
  command?: string,
) => Promise<void>;

export function addRegionCommands(program: Command, installation: Installation): void {
  const region = program
    .command("region")
    .description("Several regions; NATS_URL is a server of one of them, with the user operator");
  const withStreams: WithStreams = (work, command) =>
    installation.withNats(async (nats) => {
      await work(await nats.jetstreamManager());
      if (command !== undefined) await installation.recordCommand(command);
    });
  addMirror(region, withStreams);
  addSource(region.command("collect"), withStreams, async (manager, far) => {
    await collectClicks(manager, far);
    return true;
  }).description("In the hub: take the clicks of a far region");
  addSource(region.command("forget"), withStreams, forgetRegion).description(
    "In the hub: no longer take the clicks of a far region",
  );
  addCheck(region, withStreams);
}

function addMirror(region: Command, withStreams: WithStreams): void {
  region
    .command("mirror")
    .description(
      "In a far region: create its mirrors of LINK_LOG and LINK_SNAPSHOTS, and its CLICKS",
    )
    .option("--replicas <n>", "copies of each stream: 1, 3 or 5", parseCount, 1)
    .option("--clicks-mib <n>", "size of CLICKS in MiB", parseCount, 8_192)
    .option(
      "--recreate",
      "delete the mirrors first, after streams of the hub were recreated",
      false,
    )
    .option("--json", "print JSON", false)
    .action((options: { replicas: number; clicksMib: number; recreate: boolean; json: boolean }) =>
      withStreams(async (manager) => {
        const { replicas, clicksMib, recreate, json } = options;
        if (recreate) await recreateMirrors(manager, replicas);
        await ensureFarStreams(manager, replicas, clicksMib * 1024 ** 2);
        print(json, { streams: [...MIRRORED, CLICKS_STREAM] });
      }, "region mirror"),
    );
}

function addCheck(region: Command, withStreams: WithStreams): void {
  region
    .command("check")
    .description("What this region takes from others, and how far behind it is")
    .option("--json", "print JSON", false)
    .action(({ json }: { json: boolean }) =>
      withStreams(async (manager) => {
        const links = await readRegionLinks(manager);
        printList(json, links);
        const problems = links.filter(({ problem }) => problem !== null);
        if (problems.length > 0)
          throw new Error(
            problems
              .map(({ stream, from, problem }) => `${stream} from ${from}: ${problem}`)
              .join("\n"),
          );
      }),
    );
}

/** A command about a far region; `work` returns whether there is one of this name. */
const addSource = (
  command: Command,
  withStreams: WithStreams,
  work: (manager: JetStreamManager, far: string) => Promise<boolean>,
): Command =>
  command
    .argument("<region>", "its `domain` in server.conf", parseDomain)
    .option("--json", "print JSON", false)
    .action((far: string, { json }: { json: boolean }) =>
      withStreams(async (manager) => {
        mustExist(await work(manager, far), "region");
        print(json, { region: far });
      }, `region ${command.name()} ${far}`),
    );

/** Parses a name that is one token of a NATS subject. */
function parseDomain(text: string): string {
  if (!/^[\w-]{1,64}$/.test(text))
    throw new InvalidArgumentError("It must have only letters, digits, - and _.");
  return text;
}

/** The JetStream domain of the hub (deploy/nats/hub.conf). */
const HUB_DOMAIN = "hub";

/**
 * The streams that a far region mirrors. A mirror does not follow when its origin is truncated, and
 * so has a bound of its own: more than the origin keeps.
 */
const MIRROR_LIMITS: Record<string, Partial<StreamConfig>> = {
  [LINK_LOG_STREAM]: { max_bytes: 4 * LONG_TAIL_BYTES, discard: DiscardPolicy.Old },
  [SNAPSHOTS_STREAM]: { max_age: nanos(3 * DAY_MS) },
};
const MIRRORED = Object.keys(MIRROR_LIMITS);

/** A mirror or source gets a message from its origin at least every few seconds. */
const SILENCE_SECONDS_MAX = 30;

/** The prefix of a domain's JetStream API, as the external API of a mirror or source. */
const apiOf = (domain: string): string => `$JS.${domain}.API`;

/**
 * Creates the streams of a far region: the mirrors of the links log, and `CLICKS`. Changes no
 * existing stream. Throws when an existing stream of links is no mirror: redirectors would wait for
 * links for ever.
 */
async function ensureFarStreams(
  manager: JetStreamManager,
  replicas: number,
  clicksBytesMax: number,
): Promise<void> {
  for (const name of MIRRORED) {
    const present = await findConfig(manager, name);
    if (present === undefined) await createMirror(manager, name, replicas);
    else if (present.mirror === undefined)
      throw new Error(`${name} exists here and is no mirror. Is this the far region?`);
  }
  await ensureClicksStream(manager, clicksBytesMax, replicas);
}

/**
 * Deletes the mirrors of the links log and creates them again. Throws when a stream is no mirror.
 */
async function recreateMirrors(manager: JetStreamManager, replicas: number): Promise<void> {
  for (const name of MIRRORED) {
    const present = await findConfig(manager, name);
    if (present?.mirror === undefined) throw new Error(`There is no mirror of ${name} here.`);
    await manager.streams.delete(name);
    await createMirror(manager, name, replicas);
  }
}

async function createMirror(
  manager: JetStreamManager,
  name: string,
  replicas: number,
): Promise<void> {
  await manager.streams.add({
    name,
    description: `Mirror of ${name} of the hub`,
    mirror: { name, external: { api: apiOf(HUB_DOMAIN), deliver: "" } },
    storage: StorageType.File,
    num_replicas: replicas,
    allow_direct: true,
    ...MIRROR_LIMITS[name],
  });
}

/**
 * In the hub: adds the segments of a far region to `CLICKS`. Changes nothing when it has them
 * already.
 */
async function collectClicks(manager: JetStreamManager, region: string): Promise<void> {
  const { sources = [] } = (await manager.streams.info(CLICKS_STREAM)).config;
  const api = apiOf(region);
  if (sources.some((source) => source.external?.api === api)) return;
  const added = { name: CLICKS_STREAM, external: { api, deliver: "" } };
  await manager.streams.update(CLICKS_STREAM, { sources: [...sources, added] });
}

/** In the hub: removes a region's segments from the sources of `CLICKS`. */
async function forgetRegion(manager: JetStreamManager, region: string): Promise<boolean> {
  const { sources = [] } = (await manager.streams.info(CLICKS_STREAM)).config;
  const rest = sources.filter((source) => source.external?.api !== apiOf(region));
  if (rest.length === sources.length) return false;
  await manager.streams.update(CLICKS_STREAM, { sources: rest });
  return true;
}

/** A mirror or source of a stream in another region. */
type RegionLink = {
  stream: string;
  /** The domain of the other region. */
  from: string;
  /** Messages that it had not copied yet at its last contact with the other region. */
  lag: number;
  /** Seconds since that contact; null before the first one. */
  heard_seconds: number | null;
  /** A problem in words; null without one. */
  problem: string | null;
};

/**
 * Reports what this region copies from others: in a far region its mirrors of the links log, in
 * the hub each source of `CLICKS`. Throws when there is no stream of links.
 */
async function readRegionLinks(manager: JetStreamManager): Promise<RegionLink[]> {
  const links: RegionLink[] = [];
  if ((await findConfig(manager, LINK_LOG_STREAM)) === undefined)
    throw new Error("There is no stream of links here.");
  for (const name of MIRRORED) {
    if ((await findConfig(manager, name)) === undefined) continue;
    const { mirror } = await manager.streams.info(name);
    if (mirror === undefined) continue;
    const stale = name === LINK_LOG_STREAM ? await staleMirror(manager) : null;
    links.push(describe(name, mirror, stale));
  }
  const { sources = [] } = await manager.streams.info(CLICKS_STREAM);
  links.push(...sources.map((source) => describe(CLICKS_STREAM, source, null)));
  return links;
}

/** The server returns the external API of a source; the client's type lacks it. */
type FollowedSource = StreamSourceInfo & { external?: ExternalStream };

function describe(
  stream: string,
  { external, lag, active }: FollowedSource,
  stale: string | null,
): RegionLink {
  const heard = active < 0 ? null : Math.round(active / 1e9);
  const silent = heard === null || heard > SILENCE_SECONDS_MAX;
  return {
    stream,
    from: external?.api.split(".")[1] ?? "",
    lag,
    heard_seconds: heard,
    problem: silent ? "cut off: it hears nothing from there" : stale,
  };
}

/**
 * Returns why the mirror of the tail is old although it is connected to the hub: after the hub's
 * stream was recreated, a mirror waits until that has as many messages as the old one.
 */
async function staleMirror(manager: JetStreamManager): Promise<string | null> {
  const { message } = await readLastMessage(manager);
  if (message === undefined) return "it has no entry";
  const seconds = Math.round((Date.now() - message.time.getTime()) / 1_000);
  return seconds > SILENCE_SECONDS_MAX ? `its last entry is ${seconds} s old` : null;
}

/** A stream's configuration; undefined when there is none. */
async function findConfig(
  manager: JetStreamManager,
  name: string,
): Promise<StreamConfig | undefined> {
  return (await unlessNoStream(manager.streams.info(name)))?.config;
}
