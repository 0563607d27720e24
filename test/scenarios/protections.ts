/**
 * Protections that scenarios prove to be necessary: what is removed of the product, and which
 * scenario then fails.
 */
import type { Mutation } from "../harness/mutations.ts";

export type Protection = Mutation & {
  /** The scenario, and the faults of it, if not all, that the protection is for. */
  scenario: string;
  faults?: readonly string[];
  /** Of a scenario that is made of tests, if not all: what their names contain. */
  tests?: string;
  /** Matches one of the problems that the scenario must have. */
  problem: RegExp;
};

/** What is removed of a file: texts that each occur once, and what they become. */
const without = (file: string, ...replace: Mutation["replace"]): Mutation => ({ file, replace });

/** Counts differ; what waits to be stored says nothing about them. */
const CLICKS = /^each click once: (?!.*segments wait)/;

const underChaos = (mutation: Mutation, ...faults: string[]): Protection => ({
  scenario: "chaos",
  problem: CLICKS,
  faults,
  ...mutation,
});

const WITHOUT_REPLAY = without(
  "redirector/journal/journal.ts",
  [
    "const { segments, unknown, unreadable, unchangeable }",
    "const { unknown, unreadable, unchangeable }",
  ],
  ["for (const segment of segments) {", "for (const segment of new Array<SealedSegment>()) {"],
);

const WITHOUT_REPUBLISHING = without("redirector/journal/publisher.worker.ts", [
  "nats.on(Events.Reconnect, () => this.#enqueue(this.#retention.startRepublishing()));",
  "",
]);

const OWNER = "worker/batches/owner.ts";

const CLICK_PROTECTIONS: Readonly<Record<string, Protection>> = {
  "dedup-id": underChaos(
    without("redirector/journal/publisher.worker.ts", ["msgID: formatSegmentId(segment),", ""]),
    "kill nats",
  ),
  token: underChaos(
    without(
      "worker/batches/clicks-table.ts",
      ["insert_deduplicate: 1,", "insert_deduplicate: 0,"],
      ["insert_deduplication_token: token,", ""],
      ["deduplicate_blocks_in_dependent_materialized_views: 1,", ""],
    ),
    "kill owner after insert",
  ),
  index: underChaos(
    without(
      OWNER,
      ["return this.#index.has(id);", "return id === undefined;"],
      ["return await this.#insertBatch(unknown);", "return await this.#insertBatch(segments);"],
    ),
    "kill worker",
  ),
  check: underChaos(
    without(OWNER, [
      "          await this.confirm();\n          await this.#clicks.insert(",
      "          await this.#clicks.insert(",
    ]),
    "pause owner before check",
  ),
  "in-doubt": underChaos(
    without(OWNER, ["inDoubt.slice(-OPEN_MAX)", "new Array<Manifest>()"]),
    "kill owner before insert, which arrives late",
  ),
  settle: underChaos(
    without(OWNER, ["await this.#complete(manifest, rows);", "void rows;"]),
    "kill owner before insert, which arrives late",
  ),
  open: underChaos(
    without(OWNER, [
      "atHand.length === 0 && stored.length === 0 ? manifest : undefined",
      "undefined",
    ]),
    "recreate stream during an insert",
  ),
  repair: underChaos(
    without(OWNER, ["await this.#complete(manifest, [inClicks])", "inClicks.length >= 0"]),
    "kill owner of half an insert",
  ),
  split: {
    ...underChaos(
      without(OWNER, [
        "if (segments.length === 1 && only !== undefined) return [{ segment: only, reason }];",
        "if (only !== undefined) return rest.map((segment) => ({ segment, reason }));",
      ]),
      "publish poison",
    ),
    problem: /Dead letters are|^each click once: (?!.*segments wait)/,
  },
  replay: underChaos(WITHOUT_REPLAY, "kill redirector", "kill second redirector"),
  position: underChaos(
    without("worker/consumer/clicks-stream.ts", [
      "position === undefined || (await this.#has(position))",
      "position !== null",
    ]),
    "roll back nats, not its consumers",
  ),
  // What the owner that ends has collected beside the batch in doubt, nobody gets again.
  acknowledgement: underChaos(
    without("worker/consumer/consumer.ts", [
      "    collector.add({\n",
      "    acknowledger.acknowledge([message], enriched.whole, 0);\n    collector.add({\n",
    ]),
    "kill owner before insert, which arrives late",
  ),
  // Otherwise a worker has read what is lost, and stores it.
  grace: underChaos(WITHOUT_REPUBLISHING, "roll back nats during an insert"),
};

export type DrillProtection = Protection & {
  /** What the protection does, in a sentence of docs/drills.md. */
  does: string;
};

/** Nothing said what the drill is about. */
const UNNAMED = /nothing names it/;

/** Links lead elsewhere than they should, on one of the hosts. */
const LINKS = /instead of|is lost|is at \d+ after|is 404/;

/** Clicks are missing, or stored twice. */
const CLICKS_OF_DRILL = /^(?:each click once|no click is counted twice)/;

export const DRILL_PROTECTIONS: Readonly<Record<string, DrillProtection>> = {
  gap: {
    does: "A host applies an entry of the links log only on top of the entry before it.",
    scenario: "links store: away longer than every retention",
    problem: LINKS,
    // Only where a host begins in a tail that does not go on with its store: all hosts have to take
    // the snapshot with which the drill begins.
    ...without("redirector/links/log-follower.ts", [
      "const step = decideStep(this.#state, entry);",
      `const isFirst = isWhole && this.#end === undefined && this.#state.head.position > 0;
    const decided = decideStep(this.#state, entry);
    const step = isFirst && decided === "overwrite" ? "apply" : decided;`,
    ]),
  },
  snapshots: {
    does: "A host that lacks entries takes a snapshot.",
    scenario: "links store: away longer than every retention",
    problem: LINKS,
    // Only where a host begins with links, as above.
    ...without(
      "redirector/links/host-log.ts",
      ["  #current: LogFollower;\n", "  #current: LogFollower;\n  readonly #hadLinks: boolean;\n"],
      [
        "    this.#current = this.#follow(currentFolder(dir));\n",
        "    this.#current = this.#follow(currentFolder(dir));\n    this.#hadLinks = this.state.head.position > 0;\n",
      ],
      [
        "if (lacksEntries(this.state) || this.#hasStrayed()) return true;",
        "if (lacksEntries(this.state) && !this.#hadLinks) return true;",
      ],
    ),
  },
  positions: {
    does: "Positions of the links log never go back, as the clock does.",
    scenario: "PostgreSQL: clock an hour behind",
    problem: LINKS,
    ...without("api/migrations/0004_links_log.sql", [
      "greatest(head.position + 1, floor(extract(epoch from clock_timestamp()) * 1000000)::bigint)",
      "floor(extract(epoch from clock_timestamp()) * 1000000)::bigint",
    ]),
  },
  "full-database": {
    does: "The API responds with 503 when PostgreSQL has no room.",
    scenario: "PostgreSQL: disk full",
    problem: /On a full disk the API answers 500/,
    ...without("api/postgres.ts", ["  DISK_FULL,\n", ""]),
  },
  republish: {
    does: "Redirectors publish the clicks that they retain again.",
    scenario: "NATS: one bit flipped",
    problem: CLICKS_OF_DRILL,
    ...WITHOUT_REPUBLISHING,
  },
  readability: {
    does: "API processes read back what NATS accepts.",
    scenario: "NATS: one bit flipped",
    problem: UNNAMED,
    ...without("api/process.ts", ["    streams: readability.warning(),\n", ""]),
  },
  "history-after-restore": {
    does: "The first owner reads from the clicks which segments are stored.",
    scenario: "ClickHouse: older copy",
    problem: CLICKS_OF_DRILL,
    ...without("worker/batches/clicks-table.ts", [
      "for (const { journal_id, first, last } of rows) index.addRange(journal_id, first, last);",
      "",
    ]),
  },
  "restore-order": {
    does: "A restore deletes the workers' consumer, so that all clicks of the stream are delivered again.",
    scenario: "ClickHouse: older copy",
    problem: CLICKS_OF_DRILL,
    ...without("test/scenarios/faults/drills/clickhouse.ts", [
      "    await deleteConsumer(system);\n",
      "",
    ]),
  },
  "full-clickhouse": {
    does: "The worker says that ClickHouse has no room.",
    scenario: "ClickHouse: disk full",
    problem: UNNAMED,
    ...without("worker/consumer/consumer.ts", [
      "if (isDiskFull(error))",
      "if (isDiskFull(undefined))",
    ]),
  },
  damage: {
    does: "A damaged links store is set aside and filled again.",
    scenario: "links store: one bit flipped",
    problem: /The damaged store was not set aside/,
    ...without("redirector/links/store-files.ts", [
      "export function isDamage(error: unknown): boolean {\n",
      "export function isDamage(error: unknown): boolean {\n  if (error !== undefined) return false;\n",
    ]),
  },
  "read-only-start": {
    does: "A redirector starts on a disk that it cannot write to.",
    scenario: "links store: read-only",
    problem: /^links store: read-only/,
    ...without("redirector/limits/uses-file.ts", [
      "      // With a full disk no clicks of limits are used, and the rest of the process continues.\n      events.unwritable(error);\n",
      "      throw error;\n",
    ]),
  },
  damaged: {
    does: "Of a damaged segment only the damaged click is skipped.",
    scenario: "journal: one bit flipped",
    problem: CLICKS_OF_DRILL,
    ...without("shared/contracts/click-segment.ts", [
      "if (record === undefined) break;",
      "if (record?.isValid !== true) break;",
    ]),
  },
  "replay-after-absence": {
    does: "A redirector publishes what an earlier process left in its journal.",
    scenario: "redirector: away longer than every retention",
    problem: CLICKS_OF_DRILL,
    ...WITHOUT_REPLAY,
  },
  clocks: {
    does: "`doctor` compares the clocks.",
    scenario: "worker: clock an hour ahead",
    problem: UNNAMED,
    ...without("shared/preflight.ts", [
      "    if (offset <= WARNING_SECONDS) return undefined;\n",
      "    if (offset > -1) return undefined;\n",
    ]),
  },
};

/** Of topologies that the others leave out. */
const OTHER_PROTECTIONS: Readonly<Record<string, Protection>> = {
  "json-errors": {
    scenario: "hostile",
    problem: /5xx/,
    ...without("api/http/json-body.ts", [
      'throw new ApiError("invalid_request", "The body is not valid JSON.", { cause });',
      "throw cause;",
    ]),
  },
  "json-depth": {
    scenario: "hostile",
    problem: /parsed though nested too deeply/,
    ...without("api/http/json-body.ts", [
      "if (depth > JSON_DEPTH_MAX) {",
      "if (depth > JSON_TOKENS_MAX) {",
    ]),
  },
  eviction: {
    scenario: "flood",
    faults: ["idle connections"],
    problem: /^no visitor is kept out: \d+ of \d+ clicks failed/,
    ...without("redirector/http/open-connections.ts", [
      "    if (victim === undefined) return false;\n",
      "    return false;\n",
    ]),
  },
  retry: {
    scenario: "cluster",
    faults: ["leader of CLICKS"],
    problem: CLICKS,
    ...without("redirector/journal/publisher.worker.ts", [
      "        await Bun.sleep(backoff.next());\n",
      "        return true;\n",
    ]),
  },
  "new-primary": {
    scenario: "cluster",
    faults: ["primary of PostgreSQL"],
    problem: /^primary of PostgreSQL: .*503/,
    ...without("shared/postgres.ts", [
      "this.#findOnce().finally(() => (this.#search = undefined))",
      "this.#findOnce()",
    ]),
  },
  // A unit that is enabled counts as started: setup enables it first, and may be killed then.
  "start-enabled": {
    scenario: "boot-setup",
    tests: "runs of `shorthop setup` that are killed",
    problem: /Not ready: shorthop-\S+ does not respond/,
    ...without("cli/machines/setup/services.ts", [
      'if (!RUNNING.has(state["ActiveState"] ?? "")) changes',
      `const isRunning = RUNNING.has(state["ActiveState"] ?? "");
  if (!isRunning && changes.length === 0) return [];
  if (!isRunning) changes`,
    ]),
  },
  "region-rights": {
    scenario: "regions",
    problem: /^regions are separate: /,
    ...without("deploy/nats/hub.conf", [
      '"$JS.FC.LINK_SNAPSHOTS.>", "$JS.S.>", "$JSC.R.>"\n',
      '"$JS.FC.LINK_SNAPSHOTS.>", "$JS.S.>", "$JSC.R.>", "$JS.hub.API.STREAM.>"\n',
    ]),
  },
  "connections-max": {
    scenario: "flood",
    faults: ["idle connections"],
    problem: /^connections stay within the limit: /,
    ...without("redirector/http/open-connections.ts", [
      'if (this.#open.size >= connectionsMax && !this.#evictIdle()) this.reject(socket, "total");\n    else if',
      "if",
    ]),
  },
  // An id that outlives its process, with numbers by the clock, which a clone continues as well.
  "journal-id": {
    scenario: "clones",
    faults: ["a host is cloned while clicks wait in its journal, and both publish them"],
    problem: CLICKS_OF_DRILL,
    ...without(
      "redirector/journal/journal.ts",
      [
        "  unlinkSync,\n  writeSync,\n",
        "  readFileSync,\n  unlinkSync,\n  writeFileSync,\n  writeSync,\n",
      ],
      ["readonly id: Uuid = newUuid();", "readonly id: Uuid;"],
      [
        "    this.#bytesMax = bytesMax;\n",
        `    this.#bytesMax = bytesMax;
    const idPath = dir + "/id";
    try {
      writeFileSync(idPath, newUuid(), { flag: "wx" });
    } catch {
      // It is the one of the process before.
    }
    this.id = readFileSync(idPath, "utf8") as Uuid;
`,
      ],
      ["#nextSegment = 0;", "#nextSegment = Math.floor((Date.now() - Date.UTC(2026)) / 200);"],
    ),
  },
  "links-age": {
    scenario: "regions",
    faults: ["cut off"],
    problem: /^cut off: .*toBeGreaterThan/s,
    ...without("redirector/links/log-health.ts", [
      "(this.#now() - this.#entryAt) / 1_000",
      "(this.#now() - this.#now()) / 1_000",
    ]),
  },
};

export const PROTECTIONS: Readonly<Record<string, Protection>> = {
  ...OTHER_PROTECTIONS,
  ...CLICK_PROTECTIONS,
  ...DRILL_PROTECTIONS,
};
