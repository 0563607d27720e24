/**
 * Enhances the page of shared statistics, which is complete without it. Makes the chart readable by
 * pointer and arrow keys, and suggests the time zones that the browser knows.
 */
import {
  findNearest,
  moveSelection,
  positionOf,
} from "../../../../shared/statistics/chart-series.ts";

const SVG = "http://www.w3.org/2000/svg";

const readRow = (row: HTMLTableRowElement): string[] =>
  [...row.cells].map((cell) => cell.textContent);

/**
 * Reads the texts of the points from their table, as it is in the language of the page: the date,
 * then the name and the value of each number.
 */
function readPoints(table: HTMLTableElement): string[] {
  const [, ...names] = [...(table.tHead?.rows ?? [])].flatMap(readRow);
  return [...(table.tBodies[0]?.rows ?? [])].map((row) => {
    const [date = "", ...values] = readRow(row);
    return [date, ...values.map((value, i) => `${names[i]}: ${value}`)].join(" · ");
  });
}

function enhanceChart(
  chart: HTMLElement,
  plot: SVGSVGElement,
  tooltip: Element,
  points: readonly string[],
): void {
  const cursor = document.createElementNS(SVG, "line");
  cursor.setAttribute("class", "cursor");
  cursor.setAttribute("y2", "90%");
  let selected: number | undefined;

  function select(point: number | undefined): void {
    selected = point;
    tooltip.textContent = points[point ?? -1] ?? "";
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
  chart.setAttribute("aria-label", chart.dataset["label"] ?? "");
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
const table = document.querySelector<HTMLTableElement>("table.points");
if (chart !== null && plot && tooltip && table !== null)
  enhanceChart(chart, plot, tooltip, readPoints(table));
const zones = document.querySelector("#zones");
if (zones !== null) suggestZones(zones);
