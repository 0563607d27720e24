/**
 * The page of shared statistics: the dashboard's components as HTML, which can be read without
 * scripts, also where another site embeds it.
 */
import { renderToStaticMarkup } from "react-dom/server";

import { PERIODS } from "../../../shared/contracts/analytics.ts";
import { toBrandColors } from "../../../shared/contracts/colors.ts";
import { readableUrl } from "../../../shared/contracts/host-names.ts";
import type { Text } from "../../../shared/languages/messages.ts";
import { Card, StatCards, ValueList, ValueText } from "../../../shared/statistics/cards.tsx";
import { type Point, untilNow } from "../../../shared/statistics/chart-series.ts";
import { StatisticsLanguageContext } from "../../../shared/statistics/language.ts";
import {
  ChartDrawing,
  Legend,
  pointColumns,
  PointRows,
} from "../../../shared/statistics/time-chart.tsx";
import { WorldMap } from "../../../shared/statistics/world-map.tsx";
import { type Brand, toLogoUrl } from "../../branding/service.ts";
import type { SharedStatistics, SharedView } from "../model.ts";
import { buildScript } from "./build-script.ts" with { type: "macro" };
import {
  type Code,
  type Inline,
  type PageLanguage,
  renderDocument,
  toInline,
  toStyle,
} from "./document.ts";

import charts from "../../../shared/statistics/charts.css" with { type: "text" };

const STYLE = toStyle([charts]);

const SCRIPT = toInline(buildScript());

export type RenderedPage = {
  /** The document, compressed by gzip. */
  gzip: Uint8Array<ArrayBuffer>;
  /** The code that its policy has to allow. */
  code: Code;
};

/** By the language: of a page in use there is one for each of the few languages at most. */
const rendered = new WeakMap<SharedView, Map<PageLanguage, RenderedPage>>();

/** Renders a view, once in each language as long as the view is cached. */
export function renderStatistics(view: SharedView, language: PageLanguage): RenderedPage {
  const pages = rendered.get(view) ?? new Map<PageLanguage, RenderedPage>();
  rendered.set(view, pages);
  const known = pages.get(language);
  if (known !== undefined) return known;
  const { statistics, brand } = view;
  const code = { styles: [STYLE, ...brandStyles(brand?.color ?? null)], scripts: [SCRIPT] };
  const title = [titleOf(statistics, language), brand?.name ?? ""].filter(Boolean).join(" · ");
  const content = renderToStaticMarkup(
    <StatisticsLanguageContext value={language.statistics}>
      <StatisticsView view={view} language={language} />
    </StatisticsLanguageContext>,
  );
  const html = renderDocument(language, title, content, code);
  const page = { gzip: Bun.gzipSync(html), code };
  pages.set(language, page);
  return page;
}

/**
 * The account's colour in place of the dashboard's, on light and on dark pages. The second line of
 * the chart is grey: in its own colour it could look like the first one.
 */
function brandStyles(color: string | null): Inline[] {
  if (color === null) return [];
  const { light, dark } = toBrandColors(color);
  const accent = `light-dark(${light}, ${dark})`;
  return [
    toInline(
      `:root { --accent: ${accent}; --accent-text: ${accent}; --accent-soft: color-mix(in srgb, ${accent} 16%, var(--surface)); --second: var(--muted); }`,
    ),
  ];
}

/** Maximum points with a tooltip each; the table has all of them. */
const TITLED_POINTS_MAX = 100;

const titleOf = ({ name, short_url }: SharedStatistics, { texts }: PageLanguage): string =>
  name ?? (short_url === null ? texts.all_links() : readableUrl(short_url));

/** A part of the page, in its language. */
type Translated = { language: PageLanguage };

function StatisticsView({
  view: { statistics, countries, brand },
  language,
}: { view: SharedView } & Translated) {
  const { name, short_url, summary, breakdowns } = statistics;
  return (
    <main className="page">
      <header>
        {brand !== undefined && <BrandLine brand={brand} language={language} />}
        <h1>{titleOf(statistics, language)}</h1>
        {name !== null && short_url !== null && <p className="intro">{readableUrl(short_url)}</p>}
      </header>
      <RangeBar statistics={statistics} language={language} />
      <Card title={language.texts.chart()}>
        <StatCards totals={summary} names={["total_clicks", "unique_clicks", "clicks_per_day"]} />
        <Times points={untilNow(statistics.clicks_over_time)} language={language} />
      </Card>
      <div className="grid-cards">
        {breakdowns.map((breakdown) => (
          <Breakdown
            key={breakdown.by}
            breakdown={breakdown}
            countries={countries}
            language={language}
          />
        ))}
      </div>
      <footer className="hint">{describeCounting(statistics, language)}</footer>
    </main>
  );
}

function describeCounting(
  { timezone, complete_from }: SharedStatistics,
  { code, texts }: PageLanguage,
): string {
  const sentences = [texts.times({ timezone }), texts.counting()];
  if (complete_from !== undefined) {
    const days = new Intl.DateTimeFormat(code, { dateStyle: "medium", timeZone: "UTC" });
    const day = new Date(`${complete_from.slice(0, 10)}T00:00:00Z`);
    sentences.push(texts.complete_from({ date: days.format(day) }));
  }
  return sentences.join(" ");
}

const BrandLine = ({
  brand: { name, logo },
  language: { texts },
}: { brand: Brand } & Translated) =>
  name === null && logo === null ? null : (
    <div className="brand">
      {logo !== null && <img src={toLogoUrl(logo)} alt={name === null ? texts.logo() : ""} />}
      {name !== null && <span>{name}</span>}
    </div>
  );

/**
 * Links and a form that choose the range. Their addresses are relative, so that the page, which is
 * compressed, does not contain its secret address.
 */
function RangeBar({
  statistics,
  language: { texts },
}: { statistics: SharedStatistics } & Translated) {
  const { period, timezone, clicks_over_time: points } = statistics;
  return (
    <div className="range">
      <nav className="segmented" aria-label={texts.period()}>
        {PERIODS.map((each) => (
          <a
            key={each}
            href={`?${new URLSearchParams({ period: each, timezone }).toString()}`}
            aria-current={each === period ? "page" : undefined}
          >
            {texts.periods[each]()}
          </a>
        ))}
      </nav>
      <form className="range" aria-label={texts.dates()}>
        <Field name="start_date" label={texts.from()} type="date" value={dateOf(points[0])} />
        <Field name="end_date" label={texts.to()} type="date" value={dateOf(points.at(-1))} />
        <Field name="timezone" label={texts.timezone()} list="zones" value={timezone} />
        <datalist id="zones" />
        <button type="submit" className="button button-plain">
          {texts.show()}
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

function Times({
  points,
  language: { texts, statistics },
}: { points: readonly Point[] } & Translated) {
  return (
    <>
      <div className="chart-head">
        <Legend earlier={undefined} />
      </div>
      {/* The script gives the chart this label, once it can be read by keys. */}
      <div className="chart" data-label={texts.chart_label({ points: points.length })}>
        <ChartDrawing
          points={points}
          earlier={undefined}
          hasTitles={points.length <= TITLED_POINTS_MAX}
        />
        <div className="tooltip" role="status" />
      </div>
      <details>
        <summary>{texts.as_table()}</summary>
        <div
          className="table-scroll table-tall"
          tabIndex={0}
          role="region"
          aria-label={texts.chart()}
        >
          <table className="points">
            <thead>
              <tr>
                {pointColumns(undefined, statistics).map((name) => (
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
}

function Breakdown({
  breakdown: { by, data },
  countries,
  language: { texts },
}: {
  breakdown: SharedStatistics["breakdowns"][number];
  countries: SharedView["countries"];
} & Translated) {
  const titles: Readonly<Record<string, Text>> = texts.dimensions;
  const title = titles[by]?.() ?? by;
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
