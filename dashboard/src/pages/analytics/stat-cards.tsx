/** Totals of a period, each with its change from the previous one. */
import { ArrowDownRight, ArrowUpRight } from "lucide-react";

import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { StatCards, type StatName } from "../../../../shared/statistics/cards.tsx";
import { t } from "../../languages/translate.ts";
import { describeChange, type Direction } from "../../ui/format.ts";

type Totals = ResponseBody<"getLinkAnalytics">["summary"];

/** Totals whose increase is neither good nor bad news. */
const NEUTRAL: ReadonlySet<StatName> = new Set(["bot_clicks"]);

export const ComparedStatCards = ({
  totals,
  previous,
}: {
  totals: Totals;
  previous: Totals | undefined;
}) => (
  <StatCards
    totals={totals}
    renderChange={
      previous &&
      ((name) => <Change from={previous[name]} to={totals[name]} isNeutral={NEUTRAL.has(name)} />)
    }
  />
);

/** Whether a change is displayed as good news (up), as bad news (down), or as neither. */
export const toneOf = (direction: Direction, isNeutral: boolean): "up" | "down" | "neutral" =>
  isNeutral || direction === "none" ? "neutral" : direction;

function Change({ from, to, isNeutral }: { from: number; to: number; isNeutral: boolean }) {
  const change = describeChange(from, to);
  if (change === undefined) return null;
  const { direction, text } = change;
  const tone = toneOf(direction, isNeutral);
  return (
    <span className={`change change-${tone}`} title={t("analytics.before", { count: from })}>
      {direction === "up" && <ArrowUpRight aria-hidden />}
      {direction === "down" && <ArrowDownRight aria-hidden />}
      {direction !== "none" && (
        <span className="visually-hidden">
          {direction === "up" ? t("analytics.upBy") : t("analytics.downBy")}
        </span>
      )}
      {text}
    </span>
  );
}
