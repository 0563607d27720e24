/** Places, devices and referrers of a link's clicks, or of all. */
import { lazy, Suspense, useState } from "react";

import type { Answer } from "../../../../clients/typescript/src/index.ts";
import { countryName } from "../../ui/format.ts";
import { Card } from "../../ui/page.tsx";
import { Loading, Show } from "../../ui/states.tsx";
import { Choice, CsvButton, type Part, Parts } from "./breakdown.tsx";
import { queryOf, type Range } from "./range.ts";
import { type Source, usePart } from "./source.ts";

const WorldMap = lazy(async () => {
  const { WorldMap } = await import("./world-map.tsx");
  return { default: WorldMap };
});

type Asked = { source: Source; range: Range };

const PLACES = { country: "Countries", region: "Regions", city: "Cities" } as const;

type PlaceKind = keyof typeof PLACES;

const LISTED = 10;
const MAPPED = 100;

export function Geography({ source, range }: Asked) {
  const [kind, setKind] = useState<PlaceKind>("country");
  const list = useGeo({ source, range }, kind, LISTED);
  const all = useGeo({ source, range }, "country", MAPPED);
  const countries = (all.query.data?.data ?? []).flatMap((row) =>
    "country_name" in row ? [{ country: row.country, clicks: row.clicks }] : [],
  );
  return (
    <Card
      title="Places"
      className="span-2"
      actions={
        <>
          <Choice label="Kind of place" names={PLACES} chosen={kind} onChoose={setKind} />
          <CsvButton path={list.csv} name={PLACES[kind].toLowerCase()} />
        </>
      }
    >
      <div className="map-and-list">
        <Suspense fallback={<Loading what="the map" />}>
          <WorldMap countries={countries} />
        </Suspense>
        <Show query={list.query} what="places" lines={6}>
          {({ data }) => <Parts parts={data.map(placeOf)} label={PLACES[kind]} />}
        </Show>
      </div>
    </Card>
  );
}

const useGeo = ({ source, range }: Asked, group_by: PlaceKind, limit: number) =>
  usePart({ path: source.path, range }, "/geo", { group_by, limit: String(limit) }, (options) =>
    source.geo({ ...queryOf(range), group_by, limit }, options),
  );

function placeOf(row: Answer<"getGeo">["data"][number]): Part {
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

const KINDS = { devices: "Devices", browsers: "Browsers", os: "Systems" } as const;

export function Devices({ source, range }: Asked) {
  const [kind, setKind] = useState<keyof typeof KINDS>("devices");
  const { query, csv } = usePart({ path: source.path, range }, "/devices", {}, (options) =>
    source.devices(queryOf(range), options),
  );
  return (
    <Card
      title="Devices"
      actions={
        <>
          <Choice label="Kind" names={KINDS} chosen={kind} onChoose={setKind} />
          <CsvButton path={csv} name="devices" />
        </>
      }
    >
      <Show query={query} what="devices" lines={6}>
        {(data) => (
          <Parts
            label={KINDS[kind]}
            parts={
              kind === "devices"
                ? data.devices.map(({ type, ...figures }) => ({ name: capital(type), ...figures }))
                : data[kind]
            }
          />
        )}
      </Show>
    </Card>
  );
}

export function Referrers({ source, range }: Asked) {
  const { query, csv } = usePart({ path: source.path, range }, "/referrers", {}, (options) =>
    source.referrers(queryOf(range), options),
  );
  return (
    <Card title="Referrers" actions={<CsvButton path={csv} name="referrers" />}>
      <Show query={query} what="referrers" lines={6}>
        {(data) => (
          <Parts
            label="Referrers"
            parts={data.referrers.map(({ source, ...figures }) => ({
              name: source === "direct" ? "Direct" : source,
              ...figures,
            }))}
          />
        )}
      </Show>
    </Card>
  );
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
