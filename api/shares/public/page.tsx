/**
 * The page of shared statistics: the dashboard's components as HTML, which can be read without
 * scripts, also where another site embeds it.
 */
import { renderToStaticMarkup } from "react-dom/server";

import { toBrandColors } from "../../../shared/statistics/brand-colors.ts";
import type { SharedView } from "../model.ts";
import { buildScript } from "./build-script.ts" with { type: "macro" };
import { type Code, type Inline, renderDocument, toInline, toStyle } from "./document.ts";
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

const rendered = new WeakMap<SharedView, RenderedPage>();

/** Renders a view, once as long as the view is cached. */
export function renderStatistics(view: SharedView): RenderedPage {
  const known = rendered.get(view);
  if (known !== undefined) return known;
  const { statistics, brand } = view;
  const code = { styles: [STYLE, ...brandStyles(brand?.color ?? null)], scripts: [SCRIPT] };
  const title = [titleOf(statistics), brand?.name ?? ""].filter(Boolean).join(" · ");
  const html = renderDocument(title, renderToStaticMarkup(<StatisticsView view={view} />), code);
  const page = { gzip: Bun.gzipSync(html), code };
  rendered.set(view, page);
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
