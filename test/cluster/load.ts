/** Redirects and writes on a fleet, and what they found. */
import { callOnce, linkSchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import type { Fleet } from "./fleet.ts";

/** Links that are asked for all the time; each is also changed in turn. */
const LINKS = 20;

/** How long a redirector may take to have them, after thousands of others were created. */
const PREPARED_MS = 5_000;

type Tracked = {
  id: string;
  alias: string;
  /** When each version of the destination was acknowledged without `X-Propagation: pending`. */
  acknowledgedAt: Map<number, number>;
  redirected: number;
  unknown: number;
};

const destination = (version: number): string => `https://example.com/${version}`;

/** The version to which a redirect leads. */
export const versionOf = (headers: Headers): number =>
  Number(headers.get("location")?.split("/").at(-1));

/** Creates the links and asks every redirector for each of them, so that they are cached. */
export async function prepareLinks({ apis, redirectors, key }: Fleet): Promise<Tracked[]> {
  const links: Tracked[] = [];
  for (let i = 0; i < LINKS; i++) {
    const { body } = await callOnce(`${apis[0]?.url}/v1/links`, {
      key,
      body: { url: destination(0) },
    });
    const { id, alias } = linkSchema.parse(body);
    const link = { id, alias, acknowledgedAt: new Map(), redirected: 0, unknown: 0 };
    for (const { url } of redirectors) {
      await eventually(() => expectRedirect(`${url}/${alias}`), PREPARED_MS);
      link.redirected++;
    }
    links.push(link);
  }
  return links;
}

/** A host that is still behind thousands of links answers 503 for those it does not have yet. */
async function expectRedirect(url: string): Promise<void> {
  const { status } = await callOnce(url);
  if (status !== 302) throw new Error(`${url} is ${status} at first.`);
}

/** Starts clients at these rates per second, both bounded by how fast the fleet responds. */
export function startLoad(
  { apis, redirectors, key }: Fleet,
  links: readonly Tracked[],
  rates: { redirects: number; writes: number },
) {
  const failures: string[] = [];
  const created: string[] = [];
  let writesUnavailable = 0;
  let stalenessMs = 0;
  let lastWriteAt = performance.now();
  let lastRedirectAt = performance.now();
  let lastPublishedAt = performance.now();
  let publishGapMs = 0;
  let writeGapMs = 0;
  let redirectGapMs = 0;
  let stopped = false;

  async function follow(link: Tracked, first: number): Promise<void> {
    const sentAt = performance.now();
    // As a balancer does: a redirector that does not answer is not asked again, but another one.
    for (const { url } of [redirectors[first % 2], redirectors[(first + 1) % 2]].filter(
      (member) => member !== undefined,
    )) {
      const response = await callOnce(`${url}/${link.alias}`).catch(() => undefined);
      if (response === undefined) {
        link.unknown++;
        continue;
      }
      if (response.status !== 302) {
        failures.push(`redirect ${response.status}`);
        return;
      }
      link.redirected++;
      const now = performance.now();
      redirectGapMs = Math.max(redirectGapMs, now - lastRedirectAt);
      lastRedirectAt = now;
      const version = versionOf(response.headers);
      for (const [later, at] of link.acknowledgedAt)
        if (later > version) stalenessMs = Math.max(stalenessMs, sentAt - at);
      return;
    }
    failures.push("no redirector answered");
  }

  async function write(i: number): Promise<void> {
    const api = apis[i % 2]?.url;
    const link = links[i % links.length];
    if (link === undefined) return;
    const isCreation = i % 5 === 0;
    const response = await callOnce(
      isCreation ? `${api}/v1/links` : `${api}/v1/links/${link.id}`,
      isCreation
        ? { key, body: { url: destination(0) } }
        : { key, method: "PATCH", body: { url: destination(i) } },
    ).catch(() => undefined);
    // The process was killed; a client would try the other one.
    if (response === undefined) return;
    if (response.status === 503) {
      writesUnavailable++;
      if (!response.headers.has("retry-after")) failures.push("503 without Retry-After");
      return;
    }
    if (response.status >= 400) {
      failures.push(`write ${response.status} ${JSON.stringify(response.body)}`);
      return;
    }
    const now = performance.now();
    writeGapMs = Math.max(writeGapMs, now - lastWriteAt);
    lastWriteAt = now;
    if (isCreation) created.push(linkSchema.parse(response.body).alias);
    if (response.headers.has("x-propagation")) return;
    publishGapMs = Math.max(publishGapMs, now - lastPublishedAt);
    lastPublishedAt = now;
    if (!isCreation) link.acknowledgedAt.set(i, now);
  }

  const repeat = async (perSecond: number, clients: number, work: (i: number) => Promise<void>) => {
    await Promise.all(
      Array.from({ length: clients }, async (_, client) => {
        for (let i = client + 1; !stopped; i += clients) {
          await work(i);
          await Bun.sleep((clients * 1_000) / perSecond);
        }
      }),
    );
  };
  const redirecting = repeat(rates.redirects, 10, (i) => {
    const link = links[i % links.length];
    return link === undefined ? Promise.resolve() : follow(link, i);
  });
  const writing = repeat(rates.writes, 1, write);

  return {
    failures,
    created,
    /**
     * The longest times without a redirect, without an acknowledged write and without a published
     * one, which is the time without a leader, and by which a target was outdated.
     */
    takeGaps() {
      const gaps = { redirectGapMs, writeGapMs, publishGapMs, stalenessMs };
      redirectGapMs = writeGapMs = publishGapMs = stalenessMs = 0;
      return gaps;
    },
    unavailable: () => writesUnavailable,
    async stop() {
      stopped = true;
      await Promise.all([redirecting, writing]);
    },
  };
}
