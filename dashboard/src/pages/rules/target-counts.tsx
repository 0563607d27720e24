/** Clicks and visitors of a rule, an arm, or the link's own destination, in the last 30 days. */
import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { formatCount, formatPercent, pluralize } from "../../ui/format.ts";

type Counts = ResponseBody<"getLinkTargets">["data"][number];

/** Returns the counts of a saved rule or arm; without an id, of the link's own destination. */
export type FindTargetCounts = (kind: Counts["kind"], id: string | undefined) => Counts | undefined;

export const findTargetCounts =
  (targets: readonly Counts[]): FindTargetCounts =>
  (kind, id) =>
    targets.find((target) => target.kind === kind && (target.id ?? undefined) === id);

export const TargetCounts = ({ counts }: { counts: Counts | undefined }) =>
  counts !== undefined && (
    <span className="target-counts">
      {pluralize(counts.clicks, "click")} ({formatPercent(counts.percentage)}),{" "}
      {formatCount(counts.unique_clicks)} unique
    </span>
  );
