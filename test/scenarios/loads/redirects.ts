/** Visitors who follow links on all redirectors, and count their responses. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { call, linkSchema } from "../../harness/api.ts";
import { eventually } from "../../harness/eventually.ts";
import type { Topology } from "../topologies/topology.ts";

const VISITORS = 8;

/** Links that they follow. */
const LINKS = 10;

/** Addresses that GeoIP databases locate in several countries. */
const ADDRESSES = ["8.8.8.8", "81.2.69.142", "1.1.1.1", "185.60.216.35", "200.160.2.3"];

/** Timeout until redirectors redirect all links after one was killed. */
const RECOVERY_TIMEOUT_MS = 60_000;

/** The pause of visitors who have made enough requests. */
const ENOUGH_PAUSE_MS = 50;

/** A redirector that does not respond is not asked again at once. */
const UNANSWERED_PAUSE_MS = 20;

export type FollowedLink = { id: string; alias: string };

/** Responses for a link: redirects, and requests without one, of which nobody knows. */
export type Tally = { redirected: number; unknown: number };

/** How fast visitors are: so many requests a second, or all they can until there are so many. */
export type Pace = { perSecond: number } | { untilSlower: number };

/** What a response told about a link, for who wants to know how new it was. */
type OnRedirect = (link: FollowedLink, sentAt: number, location: string) => void;

export class Redirects {
  readonly links: readonly FollowedLink[];
  /** The key of their account. */
  readonly key: string;
  /** By link id: redirects, and clicks that a fault published. */
  readonly tallies: Map<string, Tally>;
  /** Segments that were dead letters, and so are in the stream twice. */
  readonly retried = new Set<string>();
  /** A folder with the segments of streams that were deleted, a file for each. */
  readonly deletedDir = mkdtempSync(join(tmpdir(), "shorthop-segments-"));
  /** How many responses had each status that was neither a redirect nor expected. */
  readonly failures = new Map<string, number>();
  readonly #topology: Topology;
  #sent = 0;
  #stopped = false;
  #restarting = false;
  #onRedirect: OnRedirect = () => undefined;
  #longestGapMs = 0;
  #lastRedirectAt = performance.now();
  #running: Promise<unknown> = Promise.resolve();

  /** Creates the links, and has every redirector redirect them. */
  static async prepare(topology: Topology): Promise<Redirects> {
    const key = await topology.createKey();
    const links = await Promise.all(
      Array.from({ length: LINKS }, async (_, i) => {
        const body = { url: `https://example.com/${i}` };
        const created = await call(`${topology.apis()[0]}/v1/links`, { key, body });
        return linkSchema.parse(created.body);
      }),
    );
    const redirects = new Redirects(topology, key, links);
    await redirects.whileRestarting(() => Promise.resolve());
    return redirects;
  }

  private constructor(topology: Topology, key: string, links: readonly FollowedLink[]) {
    this.#topology = topology;
    this.key = key;
    this.links = links;
    this.tallies = new Map(links.map(({ id }) => [id, { redirected: 0, unknown: 0 }]));
  }

  /** Number of requests. */
  get sent(): number {
    return this.#sent;
  }

  /** The sum of all links. */
  total(): Tally {
    const all = [...this.tallies.values()];
    const sum = (key: keyof Tally) => all.reduce((total, tally) => total + tally[key], 0);
    return { redirected: sum("redirected"), unknown: sum("unknown") };
  }

  start(pace: Pace, onRedirect: OnRedirect = () => undefined): void {
    this.#onRedirect = onRedirect;
    this.#running = Promise.all(
      Array.from({ length: VISITORS }, (_, visitor) => this.#visit(visitor, pace)),
    );
  }

  /**
   * Runs `kill`, which ends redirectors, and waits until all links redirect on each. Meanwhile they
   * may say that they are unavailable, or nothing.
   */
  async whileRestarting(kill: () => Promise<void>): Promise<void> {
    this.#restarting = true;
    await kill();
    await eventually(async () => {
      for (const base of this.#topology.redirectors())
        for (const link of this.links) {
          const answer = await this.follow(base, link);
          if (answer?.status !== 302) throw new Error(`${base} responded with ${answer?.status}.`);
        }
    }, RECOVERY_TIMEOUT_MS);
    this.#restarting = false;
  }

  /**
   * Follows a link once, from an address, and counts the response if the link is one of theirs;
   * undefined if none arrived.
   */
  async follow(
    base: string,
    link: FollowedLink,
    address = "127.0.0.1",
  ): Promise<{ status: number; location: string } | undefined> {
    const tally = this.tallies.get(link.id);
    const sentAt = performance.now();
    try {
      const { status, headers } = await fetch(new URL(link.alias, base), {
        redirect: "manual",
        headers: { "x-forwarded-for": address },
      });
      const location = headers.get("location") ?? "";
      if (status === 302) {
        if (tally !== undefined) tally.redirected++;
        const now = performance.now();
        this.#longestGapMs = Math.max(this.#longestGapMs, now - this.#lastRedirectAt);
        this.#lastRedirectAt = now;
        this.#onRedirect(link, sentAt, location);
      }
      return { status, location };
    } catch {
      if (tally !== undefined) tally.unknown++;
      await Bun.sleep(UNANSWERED_PAUSE_MS);
      return undefined;
    }
  }

  /** The longest time without a redirect since the last call, in milliseconds. */
  takeGapMs(): number {
    const gap = this.#longestGapMs;
    this.#longestGapMs = 0;
    return gap;
  }

  /** Waits for the last responses. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  remove(): void {
    rmSync(this.deletedDir, { recursive: true, force: true });
  }

  async #visit(visitor: number, pace: Pace): Promise<void> {
    for (let i = visitor; !this.#stopped; i += VISITORS) {
      const link = this.links[i % this.links.length];
      if (link === undefined) return;
      this.#sent++;
      if ("perSecond" in pace) await Bun.sleep((VISITORS * 1_000) / pace.perSecond);
      else if (this.#sent > pace.untilSlower) await Bun.sleep(ENOUGH_PAUSE_MS);
      await this.#followBalanced(link, i);
    }
  }

  /** As a balancer does: when a redirector does not answer, another one is asked. */
  async #followBalanced(link: FollowedLink, turn: number): Promise<void> {
    const wasRestarting = this.#restarting;
    const address = ADDRESSES[this.#sent % ADDRESSES.length];
    const bases = this.#topology.redirectors();
    let status: number | undefined;
    for (let i = 0; i < bases.length && status === undefined; i++)
      status = (await this.follow(bases[(turn + i) % bases.length] ?? "", link, address))?.status;
    if (status === 302) return;
    // A restarted redirector gets links from NATS, which may not respond in time on a slow machine.
    const mayFail = wasRestarting || this.#restarting;
    if (mayFail && (status === undefined || status === 503)) return;
    const what = status === undefined ? "no redirector answered" : `status ${status}`;
    this.failures.set(what, (this.failures.get(what) ?? 0) + 1);
  }
}
