/**
 * Enhances the page of shared statistics, which is complete without it. Makes the chart readable by
 * pointer and arrow keys, and suggests the time zones that the browser knows.
 */
import {
  findNearest,
  moveSelection,
  positionOf,
} from "../../../../shared/statistics/chart-selection.ts";

const SVG = "http://www.w3.org/2000/svg";

/** Reads the points from their table, as they are displayed: date, clicks, unique visitors. */
const readPoints = (): string[][] =>
  [...document.querySelectorAll<HTMLTableRowElement>(".points tbody tr")].map((row) =>
    [...row.cells].map((cell) => cell.textContent),
  );

function enhanceChart(chart: HTMLElement, plot: SVGSVGElement, tooltip: Element): void {
  const points = readPoints();
  const cursor = document.createElementNS(SVG, "line");
  cursor.setAttribute("class", "cursor");
  cursor.setAttribute("y2", "90%");
  let selected: number | undefined;

  function select(point: number | undefined): void {
    selected = point;
    const [date = "", clicks = "", unique = ""] = points[point ?? -1] ?? [];
    tooltip.textContent = point === undefined ? "" : `${date}: ${clicks} clicks, ${unique} unique`;
    if (point === undefined) {
      cursor.remove();
      return;
    }
    const x = `${positionOf(point, points.length) * 100}%`;
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    plot.append(cursor);
  }

  // The browser's own tooltips would cover the text.
  for (const hit of plot.querySelectorAll(".hit")) hit.remove();
  chart.tabIndex = 0;
  chart.setAttribute("role", "group");
  chart.setAttribute(
    "aria-label",
    `Clicks over time, ${points.length} points. Use the arrow keys to read them.`,
  );
  plot.addEventListener("pointermove", ({ clientX }) => {
    const { left, width } = plot.getBoundingClientRect();
    select(findNearest((clientX - left) / width, points.length));
  });
  plot.addEventListener("pointerleave", () => select(undefined));
  chart.addEventListener("blur", () => select(undefined));
  chart.addEventListener("keydown", (event) => {
    const moved = moveSelection(event.key, selected, points.length);
    if (moved === undefined) return;
    event.preventDefault();
    select(moved);
  });
}

function suggestZones(list: Element): void {
  for (const zone of Intl.supportedValuesOf("timeZone")) {
    const option = document.createElement("option");
    option.value = zone;
    list.append(option);
  }
}

const chart = document.querySelector<HTMLElement>(".chart");
const plot = chart?.querySelector<SVGSVGElement>(".chart-plot");
const tooltip = chart?.querySelector(".tooltip");
if (chart !== null && plot && tooltip) enhanceChart(chart, plot, tooltip);
const zones = document.querySelector("#zones");
if (zones !== null) suggestZones(zones);
