/**
 * Reports failed requests to a worker. A report is sent again until the worker confirms that it is
 * stored. So an outage of NATS, the workers or ClickHouse delays counts. A crash of the redirector
 * loses those not yet stored: unlike clicks, failures are not journalled.
 */
import {
  FAILURE_BUCKET_SECONDS,
  type FailureReport,
  FAILURES_SUBJECT,
  failuresAckSubject,
  REPORTED_ALIASES_MAX,
  REPORTED_DOMAINS_MAX,
  REPORTED_LINKS_MAX,
} from "../../shared/contracts/failures.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { Nats } from "../../shared/nats.ts";
import { repeat, type Repetition } from "../../shared/repeat.ts";

/** Maximum waiting reports, of up to 1 MiB: an outage of four hours, without a flood. */
const REPORTS_MAX = 16;

/** How long a stop waits for reports to be stored. */
const STOP_MS = 1_000;

/** Where requests count their failures. */
export interface FailureLog {
  countLink(failure: Omit<LinkFailures, "requests">): void;
  /** Counts a request for an alias of a custom domain that no link has. */
  countUnknownAlias(domain: string, alias: string): void;
}

export class FailureReporter implements FailureLog {
  readonly #nats: Nats;
  readonly #log: Log;
  readonly #intervalMs: number;
  readonly #now: () => number;
  readonly #counts = new FailureCounts();
  /** Reports not yet stored; the first one is sent until a worker has stored it. */
  readonly #reports: PendingReport[] = [];
  readonly #rounds: Repetition;
  /** The quarter hour of the counts, in Unix seconds. */
  #bucket = 0;
  #dropped = 0;

  /** Reports at an interval, after which a report without acknowledgement is sent again, too. */
  constructor(nats: Nats, intervalMs: number, log: Log, now = Date.now) {
    this.#nats = nats;
    this.#log = log;
    this.#intervalMs = intervalMs;
    this.#now = now;
    this.#rounds = repeat(async () => {
      const nextAt = performance.now() + intervalMs;
      this.#startBucket();
      if (this.#reports.length === 0) this.#seal();
      await this.#send();
      return Math.max(0, nextAt - performance.now());
    }, intervalMs);
  }

  countLink(failure: Omit<LinkFailures, "requests">): void {
    this.#startBucket();
    if (this.#counts.addLink(failure)) return;
    this.#seal();
    this.#counts.addLink(failure);
  }

  countUnknownAlias(domain: string, alias: string): void {
    this.#startBucket();
    // Reporting early for each flood of made-up hosts would cause a flood of reports.
    if (!this.#counts.addUnknownAlias(domain, alias)) this.#dropped++;
  }

  /** Reports not yet stored, counters of the next one, and failed requests beyond a bound. */
  stats(): { pending: number; entries: number; dropped: number } {
    const { entries } = this.#counts;
    return { pending: this.#reports.length, entries, dropped: this.#dropped };
  }

  /** Sends the remaining reports; those not stored within a second are lost. */
  async stop(): Promise<void> {
    this.#seal();
    // Sent at once: the round that goes on may wait longer for an answer than there is time.
    void this.#rounds.stop();
    await Promise.race([this.#send(), Bun.sleep(STOP_MS)]);
  }

  /** Starts a new report at each quarter hour. */
  #startBucket(): void {
    const seconds = this.#now() / 1_000;
    const current = Math.floor(seconds / FAILURE_BUCKET_SECONDS) * FAILURE_BUCKET_SECONDS;
    if (current !== this.#bucket) this.#seal();
    this.#bucket = current;
  }

  #seal(): void {
    const { total } = this.#counts;
    if (total === 0) return;
    const id = newUuid();
    const report: FailureReport = { id, bucket: this.#bucket, ...this.#counts.drain() };
    this.#reports.push({ id, data: JSON.stringify(report), total });
    if (this.#reports.length > REPORTS_MAX) this.#dropped += this.#reports.shift()?.total ?? 0;
  }

  /** Sends the reports, one after the other, until one is not stored in time. */
  async #send(): Promise<void> {
    // Without a connection, the client would buffer what is sent in memory again.
    while (this.#nats.connected()) {
      const [next] = this.#reports;
      if (next === undefined) return;
      try {
        await this.#request(next);
      } catch (error) {
        return this.#log.debug({ error }, "failures_not_reported");
      }
      // It may have been dropped meanwhile.
      if (this.#reports[0] === next) this.#reports.shift();
    }
  }

  async #request({ id, data }: PendingReport): Promise<void> {
    const connection = await this.#nats.connection;
    // Workers may reply on such subjects only.
    const reply = failuresAckSubject(id);
    const options = { reply, noMux: true, timeout: this.#intervalMs };
    await connection.request(FAILURES_SUBJECT, data, options);
  }
}

type PendingReport = { id: Uuid; data: string; total: number };

type LinkFailures = FailureReport["links"][number];
type AliasFailures = FailureReport["aliases"][number];

/** Aliases of a domain that survive pruning at twice as many, so that new ones can catch up. */
const ALIASES_PER_DOMAIN = 100;

type DomainFailures = { requests: number; aliases: Map<string, number>; isCut: boolean };

/**
 * Counts failed requests in bounded memory, however many aliases are made up. Only a domain's most
 * requested unknown aliases have their own counts, while the domain's total stays exact.
 */
export class FailureCounts {
  readonly #links = new Map<string, LinkFailures>();
  readonly #domains = new Map<string, DomainFailures>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  /** Number of counters: of links, of domains and of their aliases. */
  get entries(): number {
    return [...this.#domains.values()].reduce(
      (sum, { aliases }) => sum + aliases.size,
      this.#links.size + this.#domains.size,
    );
  }

  /** Counts a failure of a link; false when another link would exceed the bound. */
  addLink(failure: Omit<LinkFailures, "requests">): boolean {
    const key = `${failure.link_id} ${failure.reason} ${failure.domain}`;
    const known = this.#links.get(key);
    if (known === undefined && this.#links.size >= REPORTED_LINKS_MAX) return false;
    if (known === undefined) this.#links.set(key, { ...failure, requests: 1 });
    else known.requests++;
    this.#total++;
    return true;
  }

  /** Counts a request for an unknown alias; false when another domain would exceed the bound. */
  addUnknownAlias(domain: string, alias: string): boolean {
    let counts = this.#domains.get(domain);
    if (counts === undefined) {
      if (this.#domains.size >= REPORTED_DOMAINS_MAX) return false;
      counts = { requests: 0, aliases: new Map(), isCut: false };
      this.#domains.set(domain, counts);
    }
    counts.requests++;
    counts.aliases.set(alias, (counts.aliases.get(alias) ?? 0) + 1);
    if (counts.aliases.size > 2 * ALIASES_PER_DOMAIN) cut(counts);
    this.#total++;
    return true;
  }

  drain(): Omit<FailureReport, "id" | "bucket"> {
    const drained = {
      links: [...this.#links.values()],
      domains: [...this.#domains].map(([domain, { requests }]) => ({ domain, requests })),
      aliases: namedAliases(this.#domains),
    };
    this.#links.clear();
    this.#domains.clear();
    this.#total = 0;
    return drained;
  }
}

function cut(counts: DomainFailures): void {
  counts.aliases = new Map([...counts.aliases].toSorted(byRequests).slice(0, ALIASES_PER_DOMAIN));
  counts.isCut = true;
}

const byRequests = ([, a]: [string, number], [, b]: [string, number]): number => b - a;

/** The aliases to report. If some had to be removed, a single request is noise of a flood. */
const namedAliases = (domains: ReadonlyMap<string, DomainFailures>): AliasFailures[] =>
  [...domains]
    .flatMap(([domain, { aliases, isCut }]) =>
      [...aliases]
        .filter(([, requests]) => !isCut || requests > 1)
        .toSorted(byRequests)
        .slice(0, ALIASES_PER_DOMAIN)
        .map(([alias, requests]) => ({ domain, alias, requests })),
    )
    .toSorted((a, b) => b.requests - a.requests)
    .slice(0, REPORTED_ALIASES_MAX);
