/** Clicks and visitors of a rule, or of a version of the split, in the last 30 days. */
import { t } from "../../languages/translate.ts";
import { formatPercent } from "../../ui/format.ts";
import { type Counts, shareOfSplit } from "./split-shares.ts";

type TargetsProps = { targets: readonly Counts[]; id: string | undefined };

/** The clicks of a saved rule, and their share of all clicks of the link. */
export const RuleCounts = ({ targets, id }: TargetsProps) => {
  const counts = targets.find((target) => target.kind === "rule" && target.id === id);
  return (
    counts !== undefined && (
      <span className="target-counts">
        {t("rules.counts", {
          clicks: counts.clicks,
          percent: formatPercent(counts.percentage),
          unique: counts.unique_clicks,
        })}
      </span>
    )
  );
};

/** The clicks of a saved version, and their share of the split; without id, of the link's own. */
export const VersionCounts = ({
  targets,
  id,
  armIds,
}: TargetsProps & { armIds: ReadonlySet<string> }) => {
  const counts = targets.find(({ kind, id: other }) =>
    id === undefined ? kind === "default" : kind === "arm" && other === id,
  );
  if (counts === undefined) return null;
  return (
    <span className="target-counts">
      {t("rules.versionCounts", {
        clicks: counts.clicks,
        percent: formatPercent(shareOfSplit(counts, targets, armIds)),
        unique: counts.unique_clicks,
      })}
    </span>
  );
};
