/** Clicks and visitors of a rule, an arm, or the link's own destination, in the last 30 days. */
import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { formatCount, formatPercent, pluralize } from "../../ui/format.ts";

type Figures = ResponseBody<"getLinkTargets">["data"][number];

/** Returns the figures of a saved rule or arm; of the own destination without an id. */
export type FindFigures = (kind: Figures["kind"], id: string | undefined) => Figures | undefined;

export const findFigures =
  (targets: readonly Figures[]): FindFigures =>
  (kind, id) =>
    targets.find((target) => target.kind === kind && (target.id ?? undefined) === id);

export const TargetFigures = ({ figures }: { figures: Figures | undefined }) =>
  figures !== undefined && (
    <span className="target-figures">
      {pluralize(figures.clicks, "click")} ({formatPercent(figures.percentage)}),{" "}
      {formatCount(figures.unique_clicks)} unique
    </span>
  );
