/**
 * The page of shared statistics: HTML without scripts, so that it can be embedded under a policy
 * that allows nothing.
 */
import { createHash } from "node:crypto";

import { languageName } from "../../../shared/contracts/language-name.ts";
import { PERIODS } from "../../../shared/contracts/periods.ts";
import { readableHost, readableUrl } from "../../../shared/contracts/readable-host.ts";
import { countryName } from "../../analytics/countries.ts";
import type { SharedStatistics } from "../model.ts";

const STYLE = `
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem; }
h1 { font-size: 1.4rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 1.5rem 0 .5rem; }
nav ul { display: flex; flex-wrap: wrap; gap: 1rem; list-style: none; padding: 0; }
[aria-current] { font-weight: bold; text-decoration: none; }
dl { display: flex; flex-wrap: wrap; gap: 2rem; margin: 1rem 0; }
dt { opacity: .75; }
dd { font-size: 1.6rem; margin: 0; }
svg { display: block; height: 8rem; width: 100%; }
rect { fill: #2563eb; }
rect.unfinished { fill-opacity: .2; stroke: #2563eb; stroke-dasharray: 2 3; vector-effect: non-scaling-stroke; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid #8884; padding: .25rem .5rem .25rem 0; text-align: left; overflow-wrap: anywhere; }
td + td, th + th { text-align: right; width: 6rem; }
.breakdowns { display: grid; gap: 0 2rem; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); }
small { opacity: .75; }
`;

const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");

const PERIOD_NAMES: Readonly<Record<string, string>> = {
  "24h": "24 hours",
  "7d": "7 days",
  "30d": "30 days",
  "90d": "90 days",
  all: "All time",
};

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for the content of an element or an attribute in quotes. */
const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => escapes[character] ?? "");

/** The headers of a page that only pages of `embedOrigins` may frame. The origins were checked when they were stored. */
export function pageHeaders(embedOrigins: readonly string[]): Record<string, string> {
  const ancestors = embedOrigins.length === 0 ? "'none'" : embedOrigins.join(" ");
  return {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; img-src data:; form-action 'self'; frame-ancestors ${ancestors}; base-uri 'none'`,
    "cache-control": "private, no-store",
    // Not `no-referrer`: browsers would send the form without its origin.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-robots-tag": "noindex, nofollow",
  };
}

const renderPage = (title: string, content: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${content}
</main>
</body>
</html>
`;

/** A page that explains why there are no statistics. */
export const renderMessage = (text: string): string =>
  renderPage("Statistics", `<p role="alert">${escapeHtml(text)}</p>`);

/** The form for the password; `alert` explains why the last attempt failed. */
export const renderPasswordForm = (alert: string): string =>
  renderPage(
    "These statistics need a password",
    `${alert === "" ? "" : `<p role="alert">${escapeHtml(alert)}</p>`}
<form method="post">
<label for="password">Password</label>
<input id="password" name="password" type="password" maxlength="128" autocomplete="off" required autofocus>
<button type="submit">Continue</button>
</form>`,
  );

const count = (value: number): string => value.toLocaleString("en");

/** The statistics; the links between periods contain `token`. */
export function renderStatistics(statistics: SharedStatistics, token: string): string {
  const { name, short_url, period, timezone, summary } = statistics;
  const title = name ?? (short_url === null ? "All links" : readableUrl(short_url));
  const periods = PERIODS.map(
    (each) =>
      `<li><a href="/shared/${token}?period=${each}"${each === period ? ' aria-current="page"' : ""}>${PERIOD_NAMES[each] ?? each}</a></li>`,
  );
  return renderPage(
    title,
    `${name === null || short_url === null ? "" : `<p>${escapeHtml(short_url)}</p>`}
<nav aria-label="Period"><ul>${periods.join("")}</ul></nav>
<dl>
<div><dt>Clicks</dt><dd>${count(summary.total_clicks)}</dd></div>
<div><dt>Visitors</dt><dd>${count(summary.unique_clicks)}</dd></div>
<div><dt>Clicks a day</dt><dd>${count(summary.clicks_per_day)}</dd></div>
</dl>
${renderChart(statistics)}
<div class="breakdowns">${statistics.breakdowns.map(renderBreakdown).join("")}</div>
<p><small>Times in ${escapeHtml(timezone)}. Bots and prefetches are not counted.</small></p>`,
  );
}

/**
 * Bars in units of their number and of the maximum; the image is stretched. Today's bar is dotted.
 */
function renderChart({ clicks_over_time }: SharedStatistics): string {
  const highest = Math.max(1, ...clicks_over_time.map(({ clicks }) => clicks));
  const bars = clicks_over_time.map(({ date, clicks, unfinished }, i) => {
    const height = (clicks / highest) * 100;
    const place = `x="${i + 0.1}" y="${100 - height}" width="0.8" height="${height}"`;
    const text = `${date}: ${count(clicks)}${unfinished ? " so far" : ""}`;
    return `<rect ${place}${unfinished ? ' class="unfinished"' : ""}><title>${escapeHtml(text)}</title></rect>`;
  });
  const last = clicks_over_time.at(-1);
  const dates = `${clicks_over_time[0]?.date ?? ""} – ${last?.date ?? ""}`;
  return `<h2>Clicks over time</h2>
<svg role="img" aria-label="Clicks over time; at most ${count(highest)}" viewBox="0 0 ${clicks_over_time.length} 100" preserveAspectRatio="none">${bars.join("")}</svg>
<p><small>${escapeHtml(dates)}${last?.unfinished ? " (so far)" : ""}</small></p>`;
}

/** `utm_source` as `UTM source`. */
const titleOf = (name: string): string =>
  (name.charAt(0).toUpperCase() + name.slice(1))
    .replaceAll("_", " ")
    .replace(/^(?:Utm|Os)\b/, (text) => text.toUpperCase());

/** Display names of values that are codes. */
const NAMES: Readonly<Record<string, (value: string) => string>> = {
  country: countryName,
  language: languageName,
  referrer: readableHost,
  host: readableHost,
};

function renderBreakdown({ by, data }: SharedStatistics["breakdowns"][number]): string {
  const title = titleOf(by);
  const rows = data.map(({ values, clicks, percentage }) => {
    // A city comes before its region and country.
    const value = Object.entries(values)
      .toReversed()
      .map(([name, text]) => (text === "" ? "" : (NAMES[name]?.(text) ?? text)))
      .join(", ");
    return `<tr><td>${value === "" ? "none" : escapeHtml(value)}</td><td>${count(clicks)}</td><td>${percentage} %</td></tr>`;
  });
  return `<section><h2>${escapeHtml(title)}</h2>
<table><thead><tr><th>${escapeHtml(title)}</th><th>Clicks</th><th>Share</th></tr></thead><tbody>${rows.join("")}</tbody></table></section>
`;
}
