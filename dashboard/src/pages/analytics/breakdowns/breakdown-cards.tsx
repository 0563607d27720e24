/** The cards of an analytics page that break its clicks down. */
import { lazy, Suspense, useState } from "react";

import { countryName, formatCount } from "../../../../../shared/statistics/format.ts";
import { Loading } from "../../../ui/states.tsx";
import { useAnalyticsQuery, useFilterActions } from "../analytics-query.ts";
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
      title="Locations"
      className="span-2"
      tabs={{ country: "Countries", region: "Regions", city: "Cities" }}
      initial={initial}
      aside={<CountryMap />}
    />
  );
}

function CountryMap() {
  const { query } = useTopValues("country", COUNTRIES_MAX);
  const { toggle } = useFilterActions();
  const [hovered, setHovered] = useState<string>();
  const countries = (query.data ?? []).map(({ values, clicks }) => ({
    country: values["country"] ?? "",
    clicks,
  }));
  return (
    <Suspense fallback={<Loading label="the map" />}>
      <WorldMap
        countries={countries}
        onSelect={(country) => toggle([only("country", country)])}
        onHover={setHovered}
        caption={
          hovered !== undefined &&
          hovered !== "" && (
            <>
              <strong>{countryName(hovered)}</strong>{" "}
              {formatCount(countries.find(({ country }) => country === hovered)?.clicks ?? 0)}{" "}
              clicks
            </>
          )
        }
      />
    </Suspense>
  );
}

export const Devices = () => (
  <BreakdownCard title="Devices" tabs={{ device: "Devices", browser: "Browsers", os: "Systems" }} />
);

export const Referrers = () => (
  <BreakdownCard title="Referrers" tabs={{ referrer: "Referrers", referrer_path: "Pages" }} />
);

export const Languages = () => (
  <BreakdownCard title="Languages" tabs={{ language: "Languages", host: "Hosts" }} />
);

export const Campaigns = () => (
  <BreakdownCard
    title="Campaigns"
    className="span-2"
    tabs={{
      utm_source: "Sources",
      utm_medium: "Mediums",
      utm_campaign: "Campaigns",
      utm_term: "Terms",
      utm_content: "Contents",
    }}
  />
);

const OF_ACCOUNT = { link: "Links", tag: "Tags", domain: "Domains" };

/**
 * The account's most clicked links, tags and domains, without the dimension that the page is about.
 */
export function TopLinks() {
  const { subject } = useAnalyticsQuery();
  const shown = Object.entries(OF_ACCOUNT).filter(([name]) => name !== subject?.name);
  return <BreakdownCard title="Top links" tabs={Object.fromEntries(shown)} />;
}
