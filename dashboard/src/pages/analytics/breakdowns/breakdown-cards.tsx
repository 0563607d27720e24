/** The cards of an analytics page that break its clicks down. */
import { lazy, Suspense, useMemo, useState } from "react";

import { strong } from "../../../languages/tags.tsx";
import { rich, t } from "../../../languages/translate.ts";
import { countryName, formatCount } from "../../../ui/format.ts";
import { Loading } from "../../../ui/states.tsx";
import { toggleInUrl, useAnalyticsQuery } from "../analytics-query.ts";
import { only } from "../filters.ts";
import { BreakdownCard } from "./breakdown-card.tsx";
import { useTopValues } from "./top-values.ts";

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
