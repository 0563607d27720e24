/**
 * A card of related dimensions. Shows the top values of one at a time, with all of them in a
 * dialog, and CSV.
 */
import { List } from "lucide-react";
import { memo, type ReactNode, useState } from "react";

import { ValueList } from "../../../../../shared/statistics/cards.tsx";
import { t } from "../../../languages/translate.ts";
import { IconButton } from "../../../ui/button.tsx";
import { inSentence } from "../../../ui/format.ts";
import { Card } from "../../../ui/page.tsx";
import { QueryBoundary } from "../../../ui/states.tsx";
import { CsvButton } from "../csv-button.tsx";
import type { Dimension } from "../dimensions.ts";
import { AllValuesDialog } from "./all-values-dialog.tsx";
import { SegmentedControl } from "./segmented-control.tsx";
import { useTopValues, type ValueRow } from "./top-values.ts";
import { ValueName } from "./value-name.tsx";

type BreakdownCardProps = {
  title: string;
  /** The dimensions by name, with the labels of their lists. */
  tabs: Partial<Record<Dimension, string>>;
  /** The dimension shown first, instead of the first tab. */
  initial?: Dimension | undefined;
  className?: string;
  /** Shown beside the list. */
  aside?: ReactNode;
};

export function BreakdownCard({ title, tabs, initial, className, aside }: BreakdownCardProps) {
  const names = Object.keys(tabs) as Dimension[];
  const [selected, setSelected] = useState<Dimension>();
  const [showAll, setShowAll] = useState(false);
  const dimension = selected ?? initial ?? names[0] ?? "country";
  const label = tabs[dimension] ?? "";
  const { query, csvPath } = useTopValues(dimension);
  const list = (
    <QueryBoundary query={query} label={inSentence(title)} lines={6}>
      {(rows) => <Values rows={rows} label={label} dimension={dimension} />}
    </QueryBoundary>
  );
  return (
    <Card
      title={title}
      {...(className === undefined ? {} : { className })}
      actions={
        <>
          {names.length > 1 && (
            <SegmentedControl
              label={t("analytics.cards.by", { title })}
              options={tabs}
              selected={dimension}
              onSelect={setSelected}
            />
          )}
          <span className="card-icons">
            <IconButton
              label={t("analytics.cards.all", { label: inSentence(label) })}
              onClick={() => setShowAll(true)}
            >
              <List aria-hidden />
            </IconButton>
            <CsvButton path={csvPath} name={inSentence(label)} file={inSentence(label)} />
          </span>
        </>
      }
    >
      {aside === undefined ? (
        list
      ) : (
        <div className="map-and-list">
          {aside}
          {list}
        </div>
      )}
      {showAll && <AllValuesDialog dimension={dimension} onClose={() => setShowAll(false)} />}
    </Card>
  );
}

type ValuesProps = { rows: readonly ValueRow[]; label: string; dimension: Dimension };

/** Is rendered again only when its rows have changed; the names follow the filters. */
const Values = memo(function Values({ rows, label, dimension }: ValuesProps) {
  return (
    <ValueList
      rows={rows}
      label={label}
      renderName={(row) => <ValueName row={row} dimension={dimension} />}
    />
  );
});
