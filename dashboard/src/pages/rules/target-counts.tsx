/** Clicks and visitors of a rule, an arm, or the link's own destination, in the last 30 days. */
import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { t } from "../../languages/translate.ts";
import { formatPercent } from "../../ui/format.ts";

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
      {t("rules.counts", {
        clicks: counts.clicks,
        percent: formatPercent(counts.percentage),
        unique: counts.unique_clicks,
      })}
    </span>
  );
