/** What the page of shared statistics contains. */
import { PERIODS } from "../../../shared/contracts/periods.ts";
import { readableUrl } from "../../../shared/contracts/readable-host.ts";
import { Card } from "../../../shared/statistics/card.tsx";
import { type Point, untilNow } from "../../../shared/statistics/chart-series.ts";
import { StatCards } from "../../../shared/statistics/stat-cards.tsx";
import {
  ChartDrawing,
  Legend,
  pointColumns,
  PointRows,
} from "../../../shared/statistics/time-chart.tsx";
import { ValueList, ValueText } from "../../../shared/statistics/value-list.tsx";
import { WorldMap } from "../../../shared/statistics/world-map.tsx";
import { type Brand, toLogoUrl } from "../../branding/model.ts";
import type { SharedStatistics, SharedView } from "../model.ts";

const PERIOD_NAMES: Readonly<Record<string, string>> = {
  "24h": "24 hours",
  "7d": "7 days",
  "30d": "30 days",
  "90d": "90 days",
  all: "All time",
};

/** Titles of lists of values; of others, the dimension's name. */
const TITLES: Readonly<Record<string, string>> = {
  country: "Countries",
  region: "Regions",
  city: "Cities",
  continent: "Continents",
  device: "Devices",
  browser: "Browsers",
  os: "Systems",
  language: "Languages",
  referrer: "Referrers",
  referrer_path: "Referring pages",
  host: "Visited hosts",
  utm_source: "UTM sources",
  utm_medium: "UTM mediums",
  utm_campaign: "UTM campaigns",
  utm_term: "UTM terms",
  utm_content: "UTM contents",
};

/** Maximum points with a tooltip each; the table has all of them. */
const TITLED_POINTS_MAX = 100;

export const titleOf = ({ name, short_url }: SharedStatistics): string =>
  name ?? (short_url === null ? "All links" : readableUrl(short_url));

export function StatisticsView({ view: { statistics, countries, brand } }: { view: SharedView }) {
  const { name, short_url, summary, timezone, breakdowns, complete_from } = statistics;
  return (
    <main className="page">
      <header>
        {brand !== undefined && <BrandLine brand={brand} />}
        <h1>{titleOf(statistics)}</h1>
        {name !== null && short_url !== null && <p className="intro">{readableUrl(short_url)}</p>}
      </header>
      <RangeBar statistics={statistics} />
      <Card title="Clicks over time">
        <StatCards totals={summary} names={["total_clicks", "unique_clicks", "clicks_per_day"]} />
        <Times points={untilNow(statistics.clicks_over_time)} />
      </Card>
      <div className="grid-cards">
        {breakdowns.map((breakdown) => (
          <Breakdown key={breakdown.by} breakdown={breakdown} countries={countries} />
        ))}
      </div>
      <footer className="hint">
        Times in {timezone}. Bots and prefetches are not counted. Counts are up to a minute old.
        {complete_from !== undefined &&
          ` Breakdowns count clicks from ${complete_from.slice(0, 10)} on.`}
      </footer>
    </main>
  );
}

const BrandLine = ({ brand: { name, logo } }: { brand: Brand }) =>
  name === null && logo === null ? null : (
    <div className="brand">
      {logo !== null && <img src={toLogoUrl(logo)} alt={name === null ? "Logo" : ""} />}
      {name !== null && <span>{name}</span>}
    </div>
  );

/**
 * Links and a form that choose the range. Their addresses are relative, so that the page, which is
 * compressed, does not contain its secret address.
 */
function RangeBar({ statistics }: { statistics: SharedStatistics }) {
  const { period, timezone, clicks_over_time: points } = statistics;
  return (
    <div className="range">
      <nav className="segmented" aria-label="Period">
        {PERIODS.map((each) => (
          <a
            key={each}
            href={`?${new URLSearchParams({ period: each, timezone }).toString()}`}
            aria-current={each === period ? "page" : undefined}
          >
            {PERIOD_NAMES[each]}
          </a>
        ))}
      </nav>
      <form className="range" aria-label="Dates">
        <Field name="start_date" label="From" type="date" value={dateOf(points[0])} />
        <Field name="end_date" label="To" type="date" value={dateOf(points.at(-1))} />
        <Field name="timezone" label="Time zone" list="zones" value={timezone} />
        <datalist id="zones" />
        <button type="submit" className="button button-plain">
          Show
        </button>
      </form>
    </div>
  );
}

/** The date of a point, also of an hour. */
const dateOf = (point: Point | undefined): string => point?.date.slice(0, 10) ?? "";

type FieldProps = { name: string; label: string; value: string; type?: string; list?: string };

const Field = ({ name, label, value, ...input }: FieldProps) => (
  <div className="field">
    <label htmlFor={name}>{label}</label>
    <input id={name} name={name} defaultValue={value} required maxLength={64} {...input} />
  </div>
);

const Times = ({ points }: { points: readonly Point[] }) => (
  <>
    <div className="chart-head">
      <Legend earlier={undefined} />
    </div>
    <div className="chart">
      <ChartDrawing
        points={points}
        earlier={undefined}
        hasTitles={points.length <= TITLED_POINTS_MAX}
      />
      <div className="tooltip" role="status" />
    </div>
    <details>
      <summary>As a table</summary>
      <div
        className="table-scroll table-tall"
        tabIndex={0}
        role="region"
        aria-label="Clicks over time"
      >
        <table className="points">
          <thead>
            <tr>
              {pointColumns(undefined).map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <PointRows points={points} earlier={undefined} />
          </tbody>
        </table>
      </div>
    </details>
  </>
);

function Breakdown({
  breakdown: { by, data },
  countries,
}: {
  breakdown: SharedStatistics["breakdowns"][number];
  countries: SharedView["countries"];
}) {
  const title = TITLES[by] ?? by;
  const list = (
    <ValueList
      rows={data}
      label={title}
      renderName={({ values }) => <ValueText values={values} dimension={by} />}
    />
  );
  return by === "country" && countries !== undefined ? (
    <Card title={title} className="span-2">
      <div className="map-and-list">
        <WorldMap countries={countries} />
        {list}
      </div>
    </Card>
  ) : (
    <Card title={title}>{list}</Card>
  );
}
