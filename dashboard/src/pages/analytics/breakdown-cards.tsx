/** Clicks by location, device and referrer, of one link or of all. */
import { lazy, Suspense, useState } from "react";

import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { countryName } from "../../ui/format.ts";
import { Card } from "../../ui/page.tsx";
import { Loading, QueryBoundary } from "../../ui/states.tsx";
import { capitalize } from "../../ui/validation.ts";
import { type BreakdownItem, BreakdownList, CsvButton, SegmentedControl } from "./breakdown.tsx";
import { type Range, toRangeQuery } from "./range.ts";
import { type Source, useBreakdown } from "./source.ts";

const WorldMap = lazy(async () => {
  const { WorldMap } = await import("./world-map.tsx");
  return { default: WorldMap };
});

type BreakdownProps = { source: Source; range: Range };

const GEO_LEVELS = { country: "Countries", region: "Regions", city: "Cities" } as const;

type GeoLevel = keyof typeof GEO_LEVELS;

const LISTED_MAX = 10;
const MAPPED_COUNTRIES_MAX = 100;

export function Geography({ source, range }: BreakdownProps) {
  const [level, setLevel] = useState<GeoLevel>("country");
  const list = useGeo({ source, range }, level, LISTED_MAX);
  const map = useGeo({ source, range }, "country", MAPPED_COUNTRIES_MAX);
  const countries = (map.query.data?.data ?? []).flatMap((row) =>
    "country_name" in row ? [{ country: row.country, clicks: row.clicks }] : [],
  );
  return (
    <Card
      title="Locations"
      className="span-2"
      actions={
        <>
          <SegmentedControl
            label="Locations by"
            options={GEO_LEVELS}
            selected={level}
            onSelect={setLevel}
          />
          <CsvButton path={list.csvPath} name={GEO_LEVELS[level].toLowerCase()} />
        </>
      }
    >
      <div className="map-and-list">
        <Suspense fallback={<Loading label="the map" />}>
          <WorldMap countries={countries} />
        </Suspense>
        <QueryBoundary query={list.query} label="locations" lines={6}>
          {({ data }) => (
            <BreakdownList items={data.map(toBreakdownItem)} label={GEO_LEVELS[level]} />
          )}
        </QueryBoundary>
      </div>
    </Card>
  );
}

const useGeo = ({ source, range }: BreakdownProps, group_by: GeoLevel, limit: number) =>
  useBreakdown(
    { path: source.path, range },
    "/geo",
    { group_by, limit: String(limit) },
    (options) => source.geo({ ...toRangeQuery(range), group_by, limit }, options),
  );

function toBreakdownItem(row: ResponseBody<"getGeo">["data"][number]): BreakdownItem {
  const { clicks, percentage } = row;
  if ("city" in row) {
    const note = [row.region, countryName(row.country)].filter(Boolean).join(", ");
    return { name: row.city, note, clicks, percentage };
  }
  if ("region_name" in row) {
    return { name: row.region_name, note: countryName(row.country), clicks, percentage };
  }
  return { name: row.country_name, clicks, percentage };
}

const DEVICE_PROPERTIES = { devices: "Devices", browsers: "Browsers", os: "Systems" } as const;

export function Devices({ source, range }: BreakdownProps) {
  const [property, setProperty] = useState<keyof typeof DEVICE_PROPERTIES>("devices");
  const { query, csvPath } = useBreakdown({ path: source.path, range }, "/devices", {}, (options) =>
    source.devices(toRangeQuery(range), options),
  );
  return (
    <Card
      title="Devices"
      actions={
        <>
          <SegmentedControl
            label="Devices by"
            options={DEVICE_PROPERTIES}
            selected={property}
            onSelect={setProperty}
          />
          <CsvButton path={csvPath} name="devices" />
        </>
      }
    >
      <QueryBoundary query={query} label="devices" lines={6}>
        {(data) => (
          <BreakdownList
            label={DEVICE_PROPERTIES[property]}
            items={
              property === "devices"
                ? data.devices.map(({ type, ...rest }) => ({ name: capitalize(type), ...rest }))
                : data[property]
            }
          />
        )}
      </QueryBoundary>
    </Card>
  );
}

export function Referrers({ source, range }: BreakdownProps) {
  const { query, csvPath } = useBreakdown(
    { path: source.path, range },
    "/referrers",
    {},
    (options) => source.referrers(toRangeQuery(range), options),
  );
  return (
    <Card title="Referrers" actions={<CsvButton path={csvPath} name="referrers" />}>
      <QueryBoundary query={query} label="referrers" lines={6}>
        {(data) => (
          <BreakdownList
            label="Referrers"
            items={data.referrers.map(({ source, ...rest }) => ({
              name: source === "direct" ? "Direct" : source,
              ...rest,
            }))}
          />
        )}
      </QueryBoundary>
    </Card>
  );
}
