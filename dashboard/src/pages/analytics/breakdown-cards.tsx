/**
 * The cards of an analytics page that break its clicks down. A card is about related dimensions: it
 * shows the top values of one at a time, a dialog has all of its values, and both are saved as CSV.
 */
import { Download, List } from "lucide-react";
import { memo, type ReactNode, useMemo, useState } from "react";

import { UTM_NAMES } from "../../../../shared/contracts/analytics.ts";
import { readableUrl } from "../../../../shared/contracts/host-names.ts";
import { composeLetters } from "../../../../shared/contracts/text.ts";
import { ValueList } from "../../../../shared/statistics/cards.tsx";
import { describePlace, describeValue } from "../../../../shared/statistics/values.ts";
import { rich, statisticsLanguage, strong, t } from "../../languages/translate.ts";
import { Button, CsvButton, IconButton, SegmentedControl } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ChoiceField, TextField } from "../../ui/field.tsx";
import { countryName, inSentence } from "../../ui/format.ts";
import { Card } from "../../ui/page.tsx";
import { lazyPart, Loading, QueryBoundary, Script } from "../../ui/states.tsx";
import { type Column, RowTable } from "../../ui/table.tsx";
import { only } from "./analytics-path.ts";
import {
  type Dimension,
  dimensionLabel,
  toggleInUrl,
  useAnalyticsQuery,
} from "./analytics-query.ts";
import {
  countColumns,
  type CountedValues,
  COUNTRIES_MAX,
  useAllValues,
  useTopValues,
  ValueName,
  type ValueRow,
} from "./values.tsx";

const LoadingMap = () => <Loading label={t("analytics.cards.map")} />;

const WorldMap = lazyPart(
  new Script(() => import("../../../../shared/statistics/world-map.tsx")),
  (part) => part.WorldMap,
  LoadingMap,
);

/** A map, and a list of countries; once a country is selected, of regions, and then of cities. */
export function Places() {
  const { filters } = useAnalyticsQuery();
  const has = (name: string) => filters.some((filter) => filter.name === name && !filter.negated);
  const initial = has("region") ? "city" : has("country") ? "region" : "country";
  return (
    <BreakdownCard
      title={t("analytics.cards.locations")}
      className="span-2"
      dimensions={["country", "region", "city"]}
      initial={initial}
      aside={<CountryMap />}
    />
  );
}

function CountryMap() {
  const { query } = useTopValues("country", COUNTRIES_MAX);
  const [hovered, setHovered] = useState<string>();
  const countries = useMemo(
    () =>
      (query.data ?? []).map(({ values, clicks }) => ({
        country: values["country"] ?? "",
        clicks,
      })),
    [query.data],
  );
  // Drawing a map without clicks would delay the counts.
  if (query.data === undefined && query.error === null) return <LoadingMap />;
  return (
    <WorldMap
      countries={countries}
      onSelect={toggleCountry}
      onHover={setHovered}
      caption={
        hovered !== undefined &&
        hovered !== "" &&
        rich("analytics.cards.countryClicks", {
          country: countryName(hovered),
          clicks: countries.find(({ country }) => country === hovered)?.clicks ?? 0,
          strong,
        })
      }
    />
  );
}

const toggleCountry = (country: string): void => toggleInUrl([only("country", country)]);

export const Devices = () => <BreakdownCard dimensions={["device", "browser", "os", "trigger"]} />;

export const Referrers = () => <BreakdownCard dimensions={["referrer", "referrer_path"]} />;

export const Languages = () => <BreakdownCard dimensions={["language", "host"]} />;

export const Campaigns = () => (
  <BreakdownCard
    title={t("analytics.listed.utm_campaign")}
    className="span-2"
    dimensions={UTM_NAMES}
  />
);

/**
 * The account's most clicked links, tags and domains, without the dimension that the page is about.
 */
export function TopLinks() {
  const { subject } = useAnalyticsQuery();
  const dimensions = (["link", "tag", "domain"] as const).filter((name) => name !== subject?.name);
  return <BreakdownCard title={t("analytics.cards.topLinks")} dimensions={dimensions} />;
}

/** A dimension that a card lists. */
type Listed = Exclude<Dimension, "continent" | "imported">;

type BreakdownCardProps = {
  /** By default the name of the first dimension. */
  title?: string;
  dimensions: readonly Listed[];
  /** The dimension that is shown at first; by default the first one. */
  initial?: Listed;
  className?: string;
  aside?: ReactNode;
};

function BreakdownCard(props: BreakdownCardProps) {
  const { dimensions, initial, className, aside } = props;
  const [selected, setSelected] = useState<Listed>();
  const [first = "country"] = dimensions;
  const dimension = selected ?? initial ?? first;
  const title = props.title ?? t(`analytics.listed.${first}`);
  const label = t(`analytics.listed.${dimension}`);
  const { query, csvPath } = useTopValues(dimension);
  const list = (
    <QueryBoundary query={query} label={title} lines={6}>
      {(rows) => <Values rows={rows} label={label} dimension={dimension} />}
    </QueryBoundary>
  );
  return (
    <Card
      title={title}
      {...(className === undefined ? {} : { className })}
      actions={
        <>
          {dimensions.length > 1 && (
            <SegmentedControl
              label={t("analytics.cards.by", { title })}
              options={Object.fromEntries(
                dimensions.map((name) => [name, t(`analytics.listed.${name}`)]),
              )}
              selected={dimension}
              onSelect={setSelected}
            />
          )}
          <span className="card-icons">
            <IconButton
              label={t("analytics.cards.all", { label: inSentence(label) })}
              opens={(close) => <AllValuesDialog dimension={dimension} onClose={close} />}
            >
              <List aria-hidden />
            </IconButton>
            <CsvButton path={csvPath} name={label} />
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
    </Card>
  );
}

type ValuesProps = { rows: readonly ValueRow[]; label: string; dimension: Dimension };

/** Renders again only when its rows have changed; each name follows the filters by itself. */
const Values = memo(function Values({ rows, label, dimension }: ValuesProps) {
  return (
    <ValueList
      rows={rows}
      label={label}
      renderName={(row) => <ValueName row={row} dimension={dimension} />}
    />
  );
});

// All values of a dimension with clicks and visitors. They can be searched, combined with those of
// a second dimension, and saved as CSV.

/** Dimensions that can be the second one; of the locations, only the country. */
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

function AllValuesDialog({ dimension, onClose }: { dimension: Dimension; onClose: () => void }) {
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
          label={t("analytics.filters.values")}
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
          <Button onClick={() => values.fetchNextPage()}>{t("analytics.values.more")}</Button>
        )}
        <Button onClick={() => saveRows(rows, dimensions)}>
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
      label={t("analytics.filters.values")}
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
        ...countColumns(),
      ]}
      tall
    />
  );
}

/** Locations have the columns of those around them, too. */
const ENCLOSING: Readonly<Partial<Record<Dimension, readonly string[]>>> = {
  region: ["country"],
  city: ["country", "region"],
};

/** The columns of a row that belong to a dimension. */
function valuesOf(values: CountedValues["values"], dimension: Dimension): CountedValues["values"] {
  const names = new Set([...(ENCLOSING[dimension] ?? []), dimension]);
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.has(name)));
}

function matches({ values, link }: CountedValues, text: string): boolean {
  const searchText = composeLetters(text.trim()).toLowerCase();
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
  const { saveCsv } = await import("../../data/csv.ts");
  const table = rows.map(({ values, link, clicks, unique_clicks, percentage }) => ({
    ...values,
    clicks,
    unique_clicks,
    percentage,
    ...link,
  }));
  saveCsv(table, `${dimensions.join("-")}.csv`);
}
