/**
 * Divides the comparison of a rollup with its clicks into pieces, each of which is one query of
 * ClickHouse. A piece is a day. If a day has more than {@link PIECE_CLICKS} clicks, a piece is an
 * hour of it; of rollups by day, it is the day of some of the links, which have about so many
 * clicks. No order of clicks divides them by account: rows of accounts are one more piece, and are
 * compared with the rows of links.
 */
import { DAY_SECONDS, HOUR_SECONDS } from "../durations.ts";
import type { Uuid } from "../ids.ts";
import { type ClickHouseReader, clickTime, queryRows } from "./query.ts";
import type { RollupTable } from "./rollup-tables.ts";

/** Unix seconds, `to` exclusive. */
export type BucketRange = { from: number; to: number };

/**
 * Clicks that a piece of a day reads, unless one link has more; a query takes seconds on two cores.
 */
export const PIECE_CLICKS = 10_000_000;

/** Time after which ClickHouse gives up a query of a comparison for which nothing waits. */
export const COMPARISON_SECONDS_MAX = 300;

/** Clicks of a day whose links are the candidates for limits of pieces. */
const SAMPLE = 1_000;

/**
 * Maximum subjects that a statement lists: more would not fit into the URL, in which some clients
 * send parameters.
 */
export const SUBJECTS_MAX = 100;

const CLICKS_IN_RANGE = `ts >= ${clickTime("from")} AND ts < ${clickTime("to")}`;

const BUCKETS_IN_RANGE =
  "bucket >= toDateTime({from: UInt32}, 'UTC') AND bucket < toDateTime({to: UInt32}, 'UTC')";

export type Piece = {
  /** A query of rows that the rollup must have, and maybe others. */
  expected: string;
  /** The condition on these rows, and on the rollup's. */
  rows: string;
  /** Query parameters of both. */
  parameters: Record<string, unknown>;
  /** Whether the rollup has rows of accounts, and the piece only those of links. */
  lacksAccounts: boolean;
};

/** The division of one comparison: it reads how to divide each day once for all rollups. */
export class Division {
  readonly #clickhouse: ClickHouseReader;
  readonly #pieceClicks: number;
  /** The links at which pieces of a day begin, by its range. */
  readonly #limits = new Map<string, readonly Uuid[]>();

  constructor(clickhouse: ClickHouseReader, pieceClicks: number) {
    this.#clickhouse = clickhouse;
    this.#pieceClicks = pieceClicks;
  }

  /** Divides a range that begins and ends at the limits of buckets. */
  async *divide(rollup: RollupTable, range: BucketRange): AsyncGenerator<Piece> {
    for (const day of steps(range, DAY_SECONDS)) {
      const limits = await this.#readLimits(day);
      if (limits.length === 0) yield pieceOfAll(rollup, day);
      else if (rollup.bucketSeconds === DAY_SECONDS) yield* divideByLinks(rollup, day, limits);
      else for (const hour of steps(day, HOUR_SECONDS)) yield pieceOfAll(rollup, hour);
    }
  }

  async #readLimits(day: BucketRange): Promise<readonly Uuid[]> {
    const key = `${day.from} ${day.to}`;
    const limits =
      this.#limits.get(key) ?? (await findLimits(this.#clickhouse, day, this.#pieceClicks));
    this.#limits.set(key, limits);
    return limits;
  }
}

function* steps({ from: first, to: end }: BucketRange, seconds: number): Generator<BucketRange> {
  for (let from = first; from < end; from += seconds)
    yield { from, to: Math.min(from + seconds, end) };
}

const pieceOfAll = (rollup: RollupTable, range: BucketRange): Piece => ({
  expected: rollup.selectFromClicks(CLICKS_IN_RANGE),
  rows: BUCKETS_IN_RANGE,
  parameters: range,
  lacksAccounts: false,
});

/**
 * The piece of these subjects, at most {@link SUBJECTS_MAX}; of a rollup of both links and
 * accounts, of links.
 */
export function pieceOfSubjects(
  { idColumn, selectFromClicks }: RollupTable,
  range: BucketRange,
  subjects: readonly Uuid[],
): Piece {
  const ofBoth = idColumn === "subject_id";
  const clicks = `${CLICKS_IN_RANGE} AND ${isNamed(ofBoth ? "link_id" : idColumn)}`;
  return {
    expected: selectFromClicks(clicks, ofBoth ? "link_id" : undefined),
    rows: `${BUCKETS_IN_RANGE} AND ${isNamed(idColumn)}`,
    parameters: { ...range, subjects },
    lacksAccounts: ofBoth,
  };
}

/** Where a rollup has rows of both links and accounts: the piece of these accounts, or of all. */
export function pieceOfAccounts(
  selectFromLinks: NonNullable<RollupTable["selectFromLinks"]>,
  range: BucketRange,
  accounts?: readonly Uuid[],
): Piece {
  const ofAccounts = `${BUCKETS_IN_RANGE} AND ${accounts === undefined ? "true" : isNamed("account_id")}`;
  return {
    expected: selectFromLinks(ofAccounts),
    rows: `${ofAccounts} AND subject_id = account_id`,
    parameters: { ...range, ...(accounts === undefined ? {} : { subjects: accounts }) },
    lacksAccounts: false,
  };
}

const isNamed = (column: string): string => `${column} IN {subjects: Array(UUID)}`;

function* divideByLinks(
  rollup: RollupTable,
  range: BucketRange,
  limits: readonly Uuid[],
): Generator<Piece> {
  for (let i = 0; i <= limits.length; i++)
    yield pieceOfLinks(rollup, range, limits[i - 1], limits[i]);
  if (rollup.selectFromLinks !== undefined) yield pieceOfAccounts(rollup.selectFromLinks, range);
}

/** The piece of the links from `first` up to `next`, which is not in it; undefined for no limit. */
function pieceOfLinks(
  { idColumn, selectFromClicks }: RollupTable,
  range: BucketRange,
  first: Uuid | undefined,
  next: Uuid | undefined,
): Piece {
  const ofBoth = idColumn === "subject_id";
  const within = (column: string): string[] => [
    ...(first === undefined ? [] : [`${column} >= {first: UUID}`]),
    ...(next === undefined ? [] : [`${column} < {next: UUID}`]),
  ];
  const ofLinks = ofBoth ? ["subject_id != account_id"] : [];
  return {
    expected: selectFromClicks(
      [CLICKS_IN_RANGE, ...within("link_id")].join(" AND "),
      ofBoth ? "link_id" : undefined,
    ),
    rows: [BUCKETS_IN_RANGE, ...within(idColumn), ...ofLinks].join(" AND "),
    parameters: {
      ...range,
      ...(first === undefined ? {} : { first }),
      ...(next === undefined ? {} : { next }),
    },
    lacksAccounts: ofBoth,
  };
}

/**
 * Finds the links at which pieces of a day begin, in ClickHouse's order of UUIDs, which is not that
 * of their text. None if the day is one piece.
 */
async function findLimits(
  clickhouse: ClickHouseReader,
  range: BucketRange,
  pieceClicks: number,
): Promise<Uuid[]> {
  const [row] = await queryRows<{ clicks: string; links: Uuid[] }>(
    clickhouse,
    `SELECT count() AS clicks, arraySort(groupArraySample(${SAMPLE})(link_id)) AS links
       FROM clicks WHERE ${CLICKS_IN_RANGE}
    SETTINGS max_execution_time = ${COMPARISON_SECONDS_MAX}`,
    range,
  );
  const { clicks, links } = row ?? { clicks: "0", links: [] };
  const pieces = Math.ceil(Number(clicks) / pieceClicks);
  const limits: Uuid[] = [];
  for (let i = 1; i < pieces; i++) {
    const link = links[Math.floor((i * links.length) / pieces)];
    // A link with more clicks than a piece is at several limits.
    if (link !== undefined && link !== limits.at(-1)) limits.push(link);
  }
  return limits;
}
