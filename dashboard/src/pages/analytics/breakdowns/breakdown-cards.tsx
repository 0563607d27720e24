/**
 * The cards of an analytics page that break its clicks down: each shows the top values of one of
 * related dimensions, with all of them in a dialog, and CSV.
 */
import { List } from "lucide-react";
import { lazy, memo, type ReactNode, Suspense, useMemo, useState } from "react";

import { ValueList } from "../../../../../shared/statistics/cards.tsx";
import { rich, strong, t } from "../../../languages/translate.ts";
import { CsvButton, IconButton, SegmentedControl } from "../../../ui/button.tsx";
import { countryName, formatCount, inSentence } from "../../../ui/format.ts";
import { Card } from "../../../ui/page.tsx";
import { Loading, QueryBoundary } from "../../../ui/states.tsx";
import { type Dimension, toggleInUrl, useAnalyticsQuery } from "../analytics-query.ts";
import { only } from "../filters.ts";
import { AllValuesDialog } from "./all-values-dialog.tsx";
import { useTopValues, type ValueRow } from "./top-values.ts";
import { ValueName } from "./value-name.tsx";

const WorldMap = lazy(async () => {
  const { WorldMap } = await import("../../../../../shared/statistics/world-map.tsx");
  return { default: WorldMap };
});

const COUNTRIES_MAX = 100;

/**
 * A map and the list of locations; after countries are selected, of the regions and cities in them.
 */
export function Places() {
  const { filters } = useAnalyticsQuery();
  const has = (name: string) => filters.some((filter) => filter.name === name && !filter.negated);
  const initial = has("region") ? "city" : has("country") ? "region" : "country";
  return (
    <BreakdownCard
      title={t("analytics.cards.locations")}
      className="span-2"
      tabs={{
        country: t("analytics.cards.countries"),
        region: t("analytics.cards.regions"),
        city: t("analytics.cards.cities"),
      }}
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
  return (
    <Suspense fallback={<Loading label={t("analytics.cards.map")} />}>
      <WorldMap
        countries={countries}
        onSelect={toggleCountry}
        onHover={setHovered}
        caption={
          hovered !== undefined &&
          hovered !== "" && (
            <>
              {rich("analytics.cards.countryClicks", {
                country: countryName(hovered),
                clicks: formatCount(
                  countries.find(({ country }) => country === hovered)?.clicks ?? 0,
                ),
                strong,
              })}
            </>
          )
        }
      />
    </Suspense>
  );
}

const toggleCountry = (country: string): void => toggleInUrl([only("country", country)]);

export const Devices = () => (
  <BreakdownCard
    title={t("analytics.cards.devices")}
    tabs={{
      device: t("analytics.cards.devices"),
      browser: t("analytics.cards.browsers"),
      os: t("analytics.cards.systems"),
      trigger: t("analytics.cards.triggers"),
    }}
  />
);

export const Referrers = () => (
  <BreakdownCard
    title={t("analytics.cards.referrers")}
    tabs={{ referrer: t("analytics.cards.referrers"), referrer_path: t("analytics.cards.pages") }}
  />
);

export const Languages = () => (
  <BreakdownCard
    title={t("analytics.cards.languages")}
    tabs={{ language: t("analytics.cards.languages"), host: t("analytics.cards.hosts") }}
  />
);

export const Campaigns = () => (
  <BreakdownCard
    title={t("analytics.cards.campaigns")}
    className="span-2"
    tabs={{
      utm_source: t("analytics.cards.sources"),
      utm_medium: t("analytics.cards.mediums"),
      utm_campaign: t("analytics.cards.campaigns"),
      utm_term: t("analytics.cards.terms"),
      utm_content: t("analytics.cards.contents"),
    }}
  />
);

/**
 * The account's most clicked links, tags and domains, without the dimension that the page is about.
 */
export function TopLinks() {
  const { subject } = useAnalyticsQuery();
  const tabs = {
    link: t("shell.pages.links"),
    tag: t("shell.pages.tags"),
    domain: t("shell.pages.domains"),
  };
  const shown = Object.entries(tabs).filter(([name]) => name !== subject?.name);
  return <BreakdownCard title={t("analytics.cards.topLinks")} tabs={Object.fromEntries(shown)} />;
}

/**
 * A card of related dimensions. Shows the top values of one at a time, with all of them in a
 * dialog, and CSV.
 */
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

function BreakdownCard({ title, tabs, initial, className, aside }: BreakdownCardProps) {
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
