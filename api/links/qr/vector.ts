/** QR codes as SVG images, and as PDF documents whose shapes are vectors. */
import { promisify } from "node:util";
import { deflate } from "node:zlib";

import { channelsOf } from "../../../shared/contracts/colors.ts";
import type { Area, Box, Layout } from "./layout.ts";
import type { Pixels } from "./png.ts";

/** Two colours as `#rrggbb`. */
type Colors = { foreground: string; background: string };

/** Draws an SVG image of `size` × `size` pixels, with the logo, a PNG image, within it. */
export function drawSvg(
  { cells, boxes, logo }: Layout,
  size: number,
  { foreground, background }: Colors,
  logoPng: Buffer | undefined,
): string {
  const image =
    logo === undefined || logoPng === undefined
      ? ""
      : `<image x="${round(logo.x)}" y="${round(logo.y)}" width="${round(logo.width)}" height="${round(logo.height)}" href="data:image/png;base64,${logoPng.toString("base64")}"/>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${size}" height="${size}" viewBox="0 0 ${cells} ${cells}">`,
    `<path fill="${background}" d="M0 0h${cells}v${cells}H0z"/>`,
    `<path fill="${foreground}" fill-rule="evenodd" d="${trace(boxes, SVG_PEN)}"/>`,
    `${image}</svg>\n`,
  ].join("");
}

/**
 * Draws a document (ISO 32000) with one page of `size` × `size` points. Compresses it on another
 * thread, not on the event loop.
 */
export async function drawPdf(
  layout: Layout,
  size: number,
  colors: Colors,
  logo: Pixels | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const resources = logo === undefined ? "<< >>" : "<< /XObject << /Logo 5 0 R >> >>";
  const page = `/MediaBox [0 0 ${size} ${size}] /Resources ${resources} /Contents 4 0 R`;
  const objects = [
    Buffer.from("<< /Type /Catalog /Pages 2 0 R >>"),
    Buffer.from("<< /Type /Pages /Kids [3 0 R] /Count 1 >>"),
    Buffer.from(`<< /Type /Page /Parent 2 0 R ${page} >>`),
    await stream("", Buffer.from(drawPage(layout, size, colors))),
  ];
  if (logo !== undefined) {
    const kind = "/Type /XObject /Subtype /Image /ColorSpace /DeviceRGB /BitsPerComponent 8";
    objects.push(await stream(`${kind} /Width ${logo.width} /Height ${logo.height}`, logo.rgb));
  }
  return joinObjects(objects);
}

function drawPage({ cells, boxes, logo }: Layout, size: number, colors: Colors): string {
  const scale = size / cells;
  return [
    // From here on, units are modules, and y points down.
    `${scale} 0 0 ${-scale} 0 ${size} cm\n`,
    `${fill(colors.background)}0 0 ${cells} ${cells} re f\n`,
    `${fill(colors.foreground)}${trace(boxes, PDF_PEN)}f*\n`,
    logo === undefined ? "" : showLogo(logo),
  ].join("");
}

/** The image itself is a square of one unit, whose y points up. */
const showLogo = ({ x, y, width, height }: Area): string =>
  `${round(width)} 0 0 ${round(-height)} ${round(x)} ${round(y + height)} cm /Logo Do\n`;

const fill = (color: string): string =>
  `${channelsOf(color)
    .map((value) => round(value / 255))
    .join(" ")} rg\n`;

const compress = promisify(deflate);

async function stream(entries: string, content: Uint8Array): Promise<Buffer> {
  const data = await compress(content);
  const head = `<< ${entries} /Length ${data.length} /Filter /FlateDecode >>\nstream\n`;
  return Buffer.concat([Buffer.from(head), data, Buffer.from("\nendstream")]);
}

/**
 * A file of objects, numbered from 1, and the table of where each begins. The first is the
 * catalogue.
 */
function joinObjects(objects: readonly Buffer[]): Uint8Array<ArrayBuffer> {
  // Bytes beyond ASCII tell that the file is binary.
  const parts = [Buffer.from("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", "latin1")];
  let offset = parts[0]?.length ?? 0;
  const entries = ["0000000000 65535 f \n"];
  for (const [index, object] of objects.entries()) {
    entries.push(`${String(offset).padStart(10, "0")} 00000 n \n`);
    const head = Buffer.from(`${index + 1} 0 obj\n`);
    const part = Buffer.concat([head, object, Buffer.from("\nendobj\n")]);
    parts.push(part);
    offset += part.length;
  }
  const table = `xref\n0 ${entries.length}\n${entries.join("")}trailer\n<< /Size ${entries.length} /Root 1 0 R >>\nstartxref\n${offset}\n%%EOF\n`;
  return new Uint8Array(Buffer.concat([...parts, Buffer.from(table)]));
}

type Point = [x: number, y: number];

/** Writes an outline, clockwise from the upper left corner, in the commands of a format. */
type Pen = {
  move(to: Point): string;
  line(to: Point): string;
  /** A quarter of a circle around a corner of the box; `from` is where the pen is. */
  arc(from: Point, corner: Point, to: Point): string;
  close: string;
};

const SVG_PEN: Pen = {
  move: (to) => `M${to.map(round).join(" ")}`,
  line: (to) => `L${to.map(round).join(" ")}`,
  arc([x, y], _, to) {
    const radius = round(Math.abs(to[0] - x) || Math.abs(to[1] - y));
    return `A${radius} ${radius} 0 0 1 ${to.map(round).join(" ")}`;
  },
  close: "Z",
};

/** Where the control points of a quarter of a circle are, as a share of the way to its corner. */
const KAPPA = 0.5523;

const PDF_PEN: Pen = {
  move: (to) => `${to.map(round).join(" ")} m\n`,
  line: (to) => `${to.map(round).join(" ")} l\n`,
  arc(from, corner, to) {
    const control = (point: Point) =>
      point.map((value, i) => round(value + ((corner[i] ?? value) - value) * KAPPA)).join(" ");
    return `${control(from)} ${control(to)} ${to.map(round).join(" ")} c\n`;
  },
  close: "h\n",
};

/**
 * The outlines of all boxes as one path. It is filled by the even-odd rule, which makes holes. One
 * path, because renderers leave a seam between shapes of their own that touch.
 */
const trace = (boxes: readonly Box[], pen: Pen): string =>
  boxes.map((box) => traceBox(box, pen)).join("");

function traceBox({ x, y, width, height, radii }: Box, pen: Pen): string {
  const [topLeft, topRight, bottomRight, bottomLeft] = radii;
  const [right, bottom] = [x + width, y + height];
  const turn = (radius: number, from: Point, corner: Point, to: Point) =>
    pen.line(from) + (radius > 0 ? pen.arc(from, corner, to) : "");
  return [
    pen.move([x + topLeft, y]),
    turn(topRight, [right - topRight, y], [right, y], [right, y + topRight]),
    turn(
      bottomRight,
      [right, bottom - bottomRight],
      [right, bottom],
      [right - bottomRight, bottom],
    ),
    turn(bottomLeft, [x + bottomLeft, bottom], [x, bottom], [x, bottom - bottomLeft]),
    turn(topLeft, [x, y + topLeft], [x, y], [x + topLeft, y]),
    pen.close,
  ].join("");
}

/** A number with at most three decimals: a module has at most some hundred pixels. */
const round = (value: number): string => `${Math.round(value * 1_000) / 1_000}`;
