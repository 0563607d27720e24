/**
 * Divides the comparison of a rollup with its clicks into pieces, each of which is one query of ClickHouse. A piece is a day.
 * If a day has more than {@link PIECE_CLICKS} clicks, a piece is an hour of it; of rollups by day, it is the day of some of
 * the links, which have about so many clicks, or of all accounts.
 */
import { DAY_SECONDS, HOUR_SECONDS } from "../durations.ts";
import type { Uuid } from "../ids.ts";
import { type ClickHouse, clickTime, queryRows } from "./query.ts";
import type { RollupTable } from "./rollup-tables.ts";

/** Unix seconds, `to` exclusive. */
export type BucketRange = { from: number; to: number };

/** Clicks that a piece of a day reads, unless one link has more; a query takes seconds on two cores. */
export const PIECE_CLICKS = 10_000_000;

/** Clicks of a day whose links are the candidates for limits of pieces. */
const SAMPLE = 1_000;

/** Most subjects that a statement lists: more would not fit into the URL, in which some clients send parameters. */
export const SUBJECTS_MAX = 100;

const CLICKS_IN_RANGE = `ts >= ${clickTime("from")} AND ts < ${clickTime("to")}`;

export type Piece = {
  /** The condition on the clicks. */
  clicks: string;
  /** Of a rollup of both links and accounts, the kind of rows to make of the clicks; undefined for both. */
  kind?: "link_id" | "account_id" | undefined;
  /** The condition on the rollup's rows, and on those that are made of the clicks. */
  rows: string;
  /** Query parameters of both conditions. */
  parameters: Record<string, unknown>;
};

/** Divides a range that begins and ends at the limits of buckets. */
type Divide = (rollup: RollupTable, range: BucketRange) => AsyncGenerator<Piece>;

/** Creates the division of one comparison: it reads how to divide each day once for all rollups. */
export function createDivision(clickhouse: ClickHouse, pieceClicks: number): Divide {
  const known = new Map<string, readonly Uuid[]>();

  async function readLimits(range: BucketRange): Promise<readonly Uuid[]> {
    const key = `${range.from} ${range.to}`;
    const limits = known.get(key) ?? (await findLimits(clickhouse, range, pieceClicks));
    known.set(key, limits);
    return limits;
  }

  return async function* divide(rollup, range) {
    for (const day of steps(range, DAY_SECONDS)) {
      const limits = await readLimits(day);
      if (limits.length === 0) yield createPiece(day, {});
      else if (rollup.bucketSeconds === DAY_SECONDS) yield* divideByLinks(rollup, day, limits);
      else for (const hour of steps(day, HOUR_SECONDS)) yield createPiece(hour, {});
    }
  };
}

function* steps({ from: first, to: end }: BucketRange, seconds: number): Generator<BucketRange> {
  for (let from = first; from < end; from += seconds)
    yield { from, to: Math.min(from + seconds, end) };
}

/** The piece of these subjects, at most {@link SUBJECTS_MAX}. */
export function pieceOfSubjects(
  { idColumn }: RollupTable,
  range: BucketRange,
  subjects: readonly Uuid[],
): Piece {
  return createPiece(range, {
    clicks:
      idColumn === "subject_id"
        ? `(${isNamed("link_id")} OR ${isNamed("account_id")})`
        : isNamed(idColumn),
    rows: isNamed(idColumn),
    parameters: { subjects },
  });
}

const isNamed = (column: string): string => `${column} IN {subjects: Array(UUID)}`;

function createPiece(
  range: BucketRange,
  { clicks = "true", rows = "true", kind, parameters = {} }: Partial<Piece>,
): Piece {
  return {
    clicks: `${CLICKS_IN_RANGE} AND ${clicks}`,
    rows: `bucket >= toDateTime({from: UInt32}, 'UTC') AND bucket < toDateTime({to: UInt32}, 'UTC') AND ${rows}`,
    kind,
    parameters: { ...range, ...parameters },
  };
}

function* divideByLinks(
  { idColumn }: RollupTable,
  range: BucketRange,
  limits: readonly Uuid[],
): Generator<Piece> {
  const ofBoth = idColumn === "subject_id";
  for (let i = 0; i <= limits.length; i++) {
    const [first, next] = [limits[i - 1], limits[i]];
    const within = (column: string): string =>
      [
        ...(first === undefined ? [] : [`${column} >= {first: UUID}`]),
        ...(next === undefined ? [] : [`${column} < {next: UUID}`]),
        "true",
      ].join(" AND ");
    yield createPiece(range, {
      clicks: within("link_id"),
      rows: `${within(idColumn)}${ofBoth ? " AND subject_id != account_id" : ""}`,
      kind: "link_id",
      parameters: {
        ...(first === undefined ? {} : { first }),
        ...(next === undefined ? {} : { next }),
      },
    });
  }
  if (ofBoth) yield createPiece(range, { rows: "subject_id = account_id", kind: "account_id" });
}

/**
 * Finds the links at which pieces of a day begin, in ClickHouse's order of UUIDs, which is not that of their text. None if
 * the day is one piece.
 */
async function findLimits(
  clickhouse: ClickHouse,
  range: BucketRange,
  pieceClicks: number,
): Promise<Uuid[]> {
  const [row] = await queryRows<{ clicks: string; links: Uuid[] }>(
    clickhouse,
    `SELECT count() AS clicks, arraySort(groupArraySample(${SAMPLE})(link_id)) AS links
       FROM clicks WHERE ${CLICKS_IN_RANGE}`,
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
