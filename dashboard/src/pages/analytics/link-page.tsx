/** The analytics of one link. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { ArrowLeft, ExternalLink } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { Link as PageLink } from "wouter";

import type { Answer } from "../../../../clients/typescript/src/index.ts";
import { isNotFound } from "../../data/errors.ts";
import { baseOf, clientOf } from "../../data/http.ts";
import { useHere } from "../../data/session.ts";
import { CopyButton } from "../../ui/button.tsx";
import { countryName } from "../../ui/format.ts";
import { Card, Page } from "../../ui/page.tsx";
import { useParams } from "../../ui/params.ts";
import { Empty, Loading, Show } from "../../ui/states.tsx";
import { Choice, CsvButton, type Part, Parts } from "./breakdown.tsx";
import { Figures } from "./figures.tsx";
import { LiveClicks } from "./live.tsx";
import { PeriodBar } from "./period-bar.tsx";
import { previousQuery, queryOf, type Range, readRange } from "./range.ts";
import { TimeChart } from "./time-chart.tsx";

const WorldMap = lazy(async () => {
  const { WorldMap } = await import("./world-map.tsx");
  return { default: WorldMap };
});

export function LinkAnalyticsPage({ id }: { id: string }) {
  const { place } = useHere();
  const [params] = useParams();
  const range = readRange(params);
  const link = useQuery({
    queryKey: ["link", place, id],
    queryFn: ({ signal }) => clientOf(place).links.get(id, { signal }),
  });
  if (isNotFound(link.error)) {
    return (
      <Empty title="There is no such link">
        <p>
          <PageLink href="/links">Back to links</PageLink>
        </p>
      </Empty>
    );
  }
  return (
    <Show query={link} what="the link" lines={8}>
      {(data) => (
        <Page
          title={data.title ?? data.short_url.replace(/^https?:\/\//, "")}
          intro={
            <span className="link-line">
              <a href={data.short_url} target="_blank" rel="noreferrer">
                {data.short_url} <ExternalLink aria-hidden />
              </a>
              <CopyButton text={data.short_url} label="Copy the short URL" />
              <span className="destination" title={data.original_url}>
                {data.original_url}
              </span>
            </span>
          }
          actions={
            <PageLink href="/links" className="button button-plain">
              <ArrowLeft aria-hidden /> Links
            </PageLink>
          }
        >
          <PeriodBar range={range} />
          <Summary id={id} range={range} />
          <div className="grid-cards">
            <Geography id={id} range={range} />
            <Devices id={id} range={range} />
            <Referrers id={id} range={range} />
            <LiveClicks link={id} />
          </div>
        </Page>
      )}
    </Show>
  );
}

type Asked = { id: string; range: Range };

/** A question about a link, and where the same is to be had as CSV. */
function usePart<Data>(
  { id, range }: Asked,
  part: string,
  extra: Record<string, string>,
  ask: (signal: AbortSignal) => Promise<Data>,
) {
  const { place } = useHere();
  const query = useQuery({
    queryKey: ["analytics", place, id, part, queryOf(range), extra],
    queryFn: ({ signal }) => ask(signal),
    placeholderData: keepPreviousData,
  });
  const search = new URLSearchParams({ ...queryOf(range), ...extra });
  const csv = `${baseOf(place)}/v1/analytics/${id}${part}?${search.toString()}`;
  return { query, csv };
}

function Summary({ id, range }: Asked) {
  const { place } = useHere();
  const { analytics } = clientOf(place);
  const { query, csv } = usePart({ id, range }, "", {}, (signal) =>
    analytics.summary(id, queryOf(range), { signal }),
  );
  const labels = query.data?.clicks_over_time.map(({ date }) => date) ?? [];
  const before = useQuery({
    queryKey: ["analytics", place, id, "before", range, labels[0], labels.length],
    enabled: query.data !== undefined && !query.isPlaceholderData && range.period !== "all",
    async queryFn({ signal }) {
      const earlier = previousQuery(range, labels, Date.now());
      return earlier === undefined ? null : await analytics.summary(id, earlier, { signal });
    },
  });
  return (
    <Card title="Clicks" actions={<CsvButton path={csv} name="clicks" />}>
      <Show query={query} what="clicks" lines={8}>
        {(data) => (
          <div aria-busy={query.isPlaceholderData}>
            <Figures sums={data.summary} before={before.data?.summary} />
            <TimeChart points={data.clicks_over_time} />
          </div>
        )}
      </Show>
    </Card>
  );
}

const PLACES = { country: "Countries", region: "Regions", city: "Cities" } as const;

type PlaceKind = keyof typeof PLACES;

function Geography({ id, range }: Asked) {
  const { place } = useHere();
  const [kind, setKind] = useState<PlaceKind>("country");
  const ask = (group_by: PlaceKind, limit: number) => (signal: AbortSignal) =>
    clientOf(place).analytics.geo(id, { ...queryOf(range), group_by, limit }, { signal });
  const list = usePart({ id, range }, "/geo", { group_by: kind, limit: "10" }, ask(kind, 10));
  const all = usePart(
    { id, range },
    "/geo",
    { group_by: "country", limit: "100" },
    ask("country", 100),
  );
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

function Devices({ id, range }: Asked) {
  const { place } = useHere();
  const [kind, setKind] = useState<keyof typeof KINDS>("devices");
  const { query, csv } = usePart({ id, range }, "/devices", {}, (signal) =>
    clientOf(place).analytics.devices(id, queryOf(range), { signal }),
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

function Referrers({ id, range }: Asked) {
  const { place } = useHere();
  const { query, csv } = usePart({ id, range }, "/referrers", {}, (signal) =>
    clientOf(place).analytics.referrers(id, queryOf(range), { signal }),
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
