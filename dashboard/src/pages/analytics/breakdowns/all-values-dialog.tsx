/**
 * All values of a dimension with clicks and visitors: searchable, with a second dimension, and
 * saved as CSV.
 */
import { Download } from "lucide-react";
import { useState } from "react";

import { readableUrl } from "../../../../../shared/contracts/host-names.ts";
import { describePlace, describeValue } from "../../../../../shared/statistics/values.ts";
import { statisticsLanguage, t } from "../../../languages/translate.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { ChoiceField, TextField } from "../../../ui/field.tsx";
import { formatCount, formatPercent } from "../../../ui/format.ts";
import { QueryBoundary } from "../../../ui/states.tsx";
import { type Column, RowTable } from "../../../ui/table.tsx";
import { type Dimension, dimensionLabel } from "../analytics-query.ts";
import { type CountedValues, useAllValues } from "./top-values.ts";
import { ValueName } from "./value-name.tsx";

/** Dimensions that can be the second one; for a location, only its enclosing ones are useful. */
const SECOND: readonly Dimension[] = [
  "country",
  "device",
  "browser",
  "os",
  "language",
  "referrer",
  "utm_source",
  "utm_medium",
  "utm_campaign",
];

/** Dimensions that the API cannot combine with another one. */
const ALONE: ReadonlySet<Dimension> = new Set(["tag", "domain"]);

export function AllValuesDialog({
  dimension,
  onClose,
}: {
  dimension: Dimension;
  onClose: () => void;
}) {
  const [text, setText] = useState("");
  const [second, setSecond] = useState<Dimension>();
  const dimensions = second === undefined ? [dimension] : [dimension, second];
  const values = useAllValues(dimensions);
  const loaded = values.data?.pages.flatMap(({ data }) => data);
  const rows = (loaded ?? []).filter((row) => matches(row, text));
  return (
    <Dialog title={titleOf(dimension, second)} onClose={onClose} wide>
      <div className="stack">
        <div className="columns">
          <TextField
            label={t("analytics.values.search")}
            type="search"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          {!ALONE.has(dimension) && (
            <ChoiceField
              label={t("analytics.values.andBy")}
              value={second}
              onChoose={setSecond}
              options={[
                { value: undefined, label: t("analytics.values.nothingElse") },
                ...SECOND.filter((name) => name !== dimension).map((name) => ({
                  value: name,
                  label: dimensionLabel(name),
                })),
              ]}
            />
          )}
        </div>
        <QueryBoundary
          query={{ data: loaded, error: values.error, refetch: values.refetch }}
          label={t("analytics.values.loading")}
          lines={8}
        >
          {() => <ValueTable rows={rows} dimensions={dimensions} />}
        </QueryBoundary>
      </div>
      <footer>
        <span className="dialog-note" role="status">
          {t(values.hasNextPage ? "analytics.values.countSoFar" : "analytics.values.count", {
            count: rows.length,
          })}
        </span>
        {values.hasNextPage && (
          <Button loading={values.isFetchingNextPage} onClick={() => void values.fetchNextPage()}>
            {t("analytics.values.more")}
          </Button>
        )}
        <Button onClick={() => void saveRows(rows, dimensions)}>
          <Download aria-hidden /> {t("analytics.values.save")}
        </Button>
      </footer>
    </Dialog>
  );
}

const titleOf = (dimension: Dimension, second: Dimension | undefined): string =>
  second === undefined
    ? dimensionLabel(dimension)
    : t("analytics.values.and", {
        first: dimensionLabel(dimension),
        second: dimensionLabel(second),
      });

function ValueTable({
  rows,
  dimensions,
}: {
  rows: readonly CountedValues[];
  dimensions: readonly Dimension[];
}) {
  if (rows.length === 0) return <p className="no-data">{t("analytics.values.none")}</p>;
  return (
    <RowTable
      label={t("analytics.values.title")}
      rows={rows}
      keyOf={({ values }) => JSON.stringify(values)}
      className="values"
      columns={[
        ...dimensions.map((dimension): Column<CountedValues> => ({
          name: dimensionLabel(dimension),
          cell: ({ values, link }) => (
            <ValueName row={{ values: valuesOf(values, dimension), link }} dimension={dimension} />
          ),
        })),
        {
          name: t("statistics.clicks"),
          className: "number",
          cell: ({ clicks }) => formatCount(clicks),
        },
        {
          name: t("analytics.dimensions.visitors"),
          className: "number",
          cell: ({ unique_clicks }) => formatCount(unique_clicks),
        },
        {
          name: t("analytics.values.share"),
          className: "number",
          cell: ({ percentage }) => formatPercent(percentage),
        },
      ]}
      tall
    />
  );
}

/**
 * The columns of a row that belong to a dimension, including a region's or city's country and
 * region.
 */
function valuesOf(values: CountedValues["values"], dimension: Dimension): CountedValues["values"] {
  const outer = { region: ["country"], city: ["country", "region"] };
  const names: readonly string[] =
    dimension === "region" || dimension === "city" ? [...outer[dimension], dimension] : [dimension];
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)));
}

/** Whether a value contains the text, as displayed or as stored. */
function matches({ values, link }: CountedValues, text: string): boolean {
  const searchText = text.trim().toLowerCase();
  const shown = Object.entries(values).map(([name, value]) =>
    describeValue(name, value, statisticsLanguage()),
  );
  const shortUrl = link?.short_url ?? "";
  const names = [shortUrl, readableUrl(shortUrl), link?.title ?? ""];
  return [
    ...shown,
    ...Object.values(values),
    describePlace(values, statisticsLanguage()),
    ...names,
  ].some((candidate) => candidate.toLowerCase().includes(searchText));
}

async function saveRows(
  rows: readonly CountedValues[],
  dimensions: readonly Dimension[],
): Promise<void> {
  // Loaded on demand: most visits save nothing.
  const { saveCsv } = await import("../../../data/csv.ts");
  const table = rows.map(({ values, link, clicks, unique_clicks, percentage }) => ({
    ...values,
    clicks,
    unique_clicks,
    percentage,
    ...link,
  }));
  saveCsv(table, `${dimensions.join("-")}.csv`);
}
