/**
 * The streams of several regions (docs/regions.md). API and workers are in the hub. In a far region
 * redirectors read a mirror of each stream of the links feed, under the same name, and publish to
 * the region's own `CLICKS`, which is a source of the hub's `CLICKS`. Each region is a JetStream
 * domain; requests and messages cross between them over leaf nodes.
 */
import {
  type ExternalStream,
  type JetStreamManager,
  StorageType,
  type StreamConfig,
  type StreamSourceInfo,
} from "nats";

import { ALL_LINKS_STREAMS, type LinksStream, linksStreams } from "./links-streams.ts";
import {
  CLICKS_STREAM,
  ensureClicksStream,
  heartbeatSubject,
  jetStreamErrorCode,
  NO_MESSAGE,
  STREAM_NOT_FOUND,
} from "./streams.ts";

/** The JetStream domain of the hub (deploy/nats/hub.conf). */
const HUB_DOMAIN = "hub";

/** A mirror or source gets a message from its origin at least every few seconds. */
const SILENCE_SECONDS_MAX = 30;

/** The prefix of a domain's JetStream API, as the external API of a mirror or source. */
const apiOf = (domain: string): string => `$JS.${domain}.API`;

/**
 * Creates the streams of a far region: the mirrors of the links feed, and `CLICKS`. Changes no
 * existing stream. Throws when an existing stream of links is no mirror: redirectors would respond
 * 404 to every link.
 */
export async function createFarStreams(
  manager: JetStreamManager,
  {
    replicas,
    clicksBytesMax,
    streams = linksStreams(1),
  }: { replicas: number; clicksBytesMax: number; streams?: readonly LinksStream[] },
): Promise<void> {
  for (const { name } of streams) {
    const present = await findConfig(manager, name);
    if (present === undefined) await addMirror(manager, name, replicas);
    else if (present.mirror === undefined)
      throw new Error(`${name} exists here and is no mirror. Is this the far region?`);
  }
  await ensureClicksStream(manager, clicksBytesMax, replicas);
}

/**
 * Deletes the mirrors of the links feed and creates them again. Throws when a stream is no mirror.
 */
export async function recreateMirrors(
  manager: JetStreamManager,
  replicas: number,
  streams: readonly LinksStream[],
): Promise<void> {
  for (const { name } of streams) {
    const present = await findConfig(manager, name);
    if (present?.mirror === undefined) throw new Error(`There is no mirror of ${name} here.`);
    await manager.streams.delete(name);
    await addMirror(manager, name, replicas);
  }
}

async function addMirror(manager: JetStreamManager, name: string, replicas: number): Promise<void> {
  await manager.streams.add({
    name,
    description: "Mirror of the last state of every short link",
    mirror: { name, external: { api: apiOf(HUB_DOMAIN), deliver: "" } },
    storage: StorageType.File,
    num_replicas: replicas,
    // A mirror copies the messages of its origin, but not their replacement by newer ones.
    max_msgs_per_subject: 1,
    allow_direct: true,
  });
}

/**
 * In the hub: adds the segments of a far region to `CLICKS`. Changes nothing when it has them
 * already.
 */
export async function collectClicks(manager: JetStreamManager, region: string): Promise<void> {
  const { sources = [] } = (await manager.streams.info(CLICKS_STREAM)).config;
  const api = apiOf(region);
  if (sources.some((source) => source.external?.api === api)) return;
  const added = { name: CLICKS_STREAM, external: { api, deliver: "" } };
  await manager.streams.update(CLICKS_STREAM, { sources: [...sources, added] });
}

/** In the hub: removes a region's segments from the sources of `CLICKS`. */
export async function forgetRegion(manager: JetStreamManager, region: string): Promise<boolean> {
  const { sources = [] } = (await manager.streams.info(CLICKS_STREAM)).config;
  const rest = sources.filter((source) => source.external?.api !== apiOf(region));
  if (rest.length === sources.length) return false;
  await manager.streams.update(CLICKS_STREAM, { sources: rest });
  return true;
}

/** A mirror or source of a stream in another region. */
export type RegionLink = {
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
 * Reports what this region copies from others: in a far region its mirrors of the links feed, in
 * the hub each source of `CLICKS`. Throws when there is no stream of links.
 */
export async function readRegionLinks(manager: JetStreamManager): Promise<RegionLink[]> {
  const links: RegionLink[] = [];
  const present: LinksStream[] = [];
  for (const stream of ALL_LINKS_STREAMS)
    if ((await findConfig(manager, stream.name)) !== undefined) present.push(stream);
  if (present.length === 0) throw new Error("There is no stream of links here.");
  for (const stream of present) {
    const { mirror } = await manager.streams.info(stream.name);
    if (mirror !== undefined)
      links.push(describe(stream.name, mirror, await staleMirror(manager, stream)));
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
 * Returns why a mirror has old links although it is connected to the hub: after the hub's `LINKS`
 * was recreated, the mirror waits until the new stream has as many messages as the old one.
 */
async function staleMirror(manager: JetStreamManager, stream: LinksStream): Promise<string | null> {
  try {
    const { time } = await manager.streams.getMessage(stream.name, {
      last_by_subj: heartbeatSubject(stream),
    });
    const seconds = Math.round((Date.now() - time.getTime()) / 1_000);
    return seconds > SILENCE_SECONDS_MAX ? `its last heartbeat is ${seconds} s old` : null;
  } catch (error) {
    if (jetStreamErrorCode(error) === NO_MESSAGE) return "it has no heartbeat";
    throw error;
  }
}

/** A stream's configuration; undefined when there is none. */
async function findConfig(
  manager: JetStreamManager,
  name: string,
): Promise<StreamConfig | undefined> {
  try {
    return (await manager.streams.info(name)).config;
  } catch (error) {
    if (jetStreamErrorCode(error) === STREAM_NOT_FOUND) return undefined;
    throw error;
  }
}
