/**
 * The page of shared statistics: the dashboard's components as HTML, which can be read without
 * scripts, also where another site embeds it.
 */
import { renderToStaticMarkup } from "react-dom/server";

import { toBrandColors } from "../../../shared/contracts/colors.ts";
import { StatisticsLanguageContext } from "../../../shared/statistics/language.ts";
import type { SharedView } from "../model.ts";
import { buildScript } from "./build-script.ts" with { type: "macro" };
import { type Code, type Inline, renderDocument, toInline, toStyle } from "./document.ts";
import type { PageLanguage } from "./page-language.ts";
import { StatisticsView, titleOf } from "./statistics-view.tsx";

import charts from "../../../shared/statistics/charts.css" with { type: "text" };
import tables from "../../../shared/statistics/tables.css" with { type: "text" };

const STYLE = toStyle([tables, charts]);

const SCRIPT = toInline(buildScript());

export type RenderedPage = {
  /** The document, compressed by gzip. */
  gzip: Uint8Array<ArrayBuffer>;
  /** What its policy has to allow. */
  code: Pick<Code, "styles" | "scripts">;
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
