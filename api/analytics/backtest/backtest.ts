/** Runs rules over a link's stored clicks. */
import { type ClickChunks, queryManyRows } from "../../../shared/clicks/query.ts";
import { parseWebUrl } from "../../../shared/contracts/web-url.ts";
import { MINUTE_MS } from "../../../shared/durations.ts";
import type { Uuid } from "../../../shared/ids.ts";
import { beginTurn } from "../../../shared/turns.ts";
import { ApiError } from "../../http/errors.ts";
import { percentageOf } from "../breakdowns.ts";
import { clampInstant, type QueryRange, RAW_RANGE } from "../sources.ts";
import { columnOf, compileRules, type StoredClick } from "./evaluate.ts";
import type { Backtest, BacktestBody } from "./model.ts";

/** Maximum clicks that one backtest reads, newest first: at most about 10 MB of rows. */
const CLICKS_MAX = 50_000;

type Rules = BacktestBody["rules"];

/** A group of clicks that rules cannot distinguish: their count, and the time of the oldest one. */
type Row = Omit<StoredClick, "at"> & Record<"at" | "clicks" | "oldest", string>;

/**
 * Counts a link's human clicks in a range by the rule that would have decided them. Throws
 * `invalid_url` when a rule's URL is invalid.
 */
export async function backtestRules(
  clickhouse: ClickChunks,
  linkId: Uuid,
  rules: Rules,
  range: Pick<QueryRange, "from" | "to">,
): Promise<Omit<Backtest, "link_id">> {
  requireWebUrls(rules);
  const rows = await readClicks(clickhouse, linkId, rules, range);
  const evaluate = compileRules(rules.map((rule) => ({ ...rule, id: "" })));
  const counts = rules.map(({ url }) => ({ url, clicks: 0, undeterminable: 0 }));
  let total = 0;
  let rest = 0;
  let oldest = Infinity;
  // A row takes nanoseconds, or a millisecond with the maximum of rules.
  const turn = beginTurn();
  for (const row of rows) {
    if (turn.isOver()) await turn.next();
    const clicks = Number(row.clicks);
    total += clicks;
    oldest = Math.min(oldest, Number(row.oldest));
    const verdict = evaluate({ ...row, at: Number(row.at) });
    const count = verdict && counts[verdict.rule];
    if (count === undefined) rest += clicks;
    else count[verdict?.isCertain === true ? "clicks" : "undeterminable"] += clicks;
  }
  return {
    clicks: total,
    rules: counts.map((one) => ({ ...one, percentage: shareOf(one.clicks, total) })),
    otherwise: { clicks: rest, percentage: shareOf(rest, total) },
    ...(total < CLICKS_MAX ? {} : { complete_from: new Date(oldest).toISOString() }),
  };
}

const shareOf = (clicks: number, total: number): number =>
  total === 0 ? 0 : percentageOf(clicks, total);

function requireWebUrls(rules: Rules): void {
  for (const [i, { url }] of rules.entries()) {
    const parsed = parseWebUrl(url);
    if (!("problem" in parsed)) continue;
    const param = `rules.${i}.url`;
    throw new ApiError("invalid_url", `Invalid value for "${param}": ${parsed.problem}`, { param });
  }
}

/** Reads the newest clicks, grouped by the columns that the rules need. */
async function readClicks(
  clickhouse: ClickChunks,
  linkId: Uuid,
  rules: Rules,
  { from, to }: Pick<QueryRange, "from" | "to">,
): Promise<Iterable<Row>> {
  const conditions = rules.flatMap((rule) => rule.conditions);
  // Column names come from the types of conditions, never from their values, so they need no
  // escaping.
  const columns = [...new Set(conditions.flatMap((condition) => columnOf(condition) ?? []))];
  return await queryManyRows<Row>(
    clickhouse,
    `SELECT ${["at", ...columns].join(", ")}, count() AS clicks, min(ms) AS oldest
       FROM (
         SELECT ${["toUnixTimestamp64Milli(ts) AS ms", ...columns].join(", ")},
                intDiv(ms, {step: Int64}) * {step: Int64} AS at
           FROM clicks
          WHERE link_id = {link_id: UUID} AND class = 'human' AND ${RAW_RANGE}
          ORDER BY ts DESC
          LIMIT {limit: UInt32}
       )
      GROUP BY ${["at", ...columns].join(", ")}
      ORDER BY at`,
    {
      link_id: linkId,
      from: clampInstant(from),
      to: clampInstant(to),
      limit: CLICKS_MAX,
      step: stepOf(conditions),
    },
  );
}

/**
 * Rules without times treat all clicks as one instant; schedules begin and end on whole minutes.
 */
function stepOf(conditions: readonly Rules[number]["conditions"][number][]): number {
  const types = new Set(conditions.map(({ type }) => type));
  if (types.has("time")) return 1;
  return types.has("schedule") ? MINUTE_MS : Number.MAX_SAFE_INTEGER;
}
