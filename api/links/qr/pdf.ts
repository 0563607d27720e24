/** QR codes as PDF documents (ISO 32000) of one page, whose shapes are vectors. */
import { promisify } from "node:util";
import { deflate } from "node:zlib";

import { channelsOf } from "../../../shared/contracts/colors.ts";
import type { QrStyle } from "../../../shared/contracts/qr-style.ts";
import type { Layout } from "./layout.ts";
import type { Pixels } from "./logo.ts";
import { type Pen, round, tracePath } from "./path.ts";

type Colors = Pick<QrStyle, "foreground" | "background">;

const compress = promisify(deflate);

/** Where the control points of a quarter of a circle are, as a share of the way to its corner. */
const KAPPA = 0.5523;

const PEN: Pen = {
  move: (x, y) => `${round(x)} ${round(y)} m\n`,
  line: (x, y) => `${round(x)} ${round(y)} l\n`,
  corner: (from, corner, to) => {
    const control = (point: readonly number[]) =>
      point.map((value, i) => round(value + ((corner[i] ?? value) - value) * KAPPA)).join(" ");
    return `${control(from)} ${control(to)} ${to.map(round).join(" ")} c\n`;
  },
  close: "h\n",
};

/**
 * Draws a page of `size` × `size` points. Compresses on a separate thread, not on the event loop.
 */
export async function drawPdf(
  layout: Layout,
  size: number,
  colors: Colors,
  logo: Pixels | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const resources = logo === undefined ? "<< >>" : "<< /XObject << /Logo 5 0 R >> >>";
  return joinObjects([
    dictionary("/Type /Catalog /Pages 2 0 R"),
    dictionary("/Type /Pages /Kids [3 0 R] /Count 1"),
    dictionary(
      `/Type /Page /Parent 2 0 R /MediaBox [0 0 ${size} ${size}] /Resources ${resources} /Contents 4 0 R`,
    ),
    await stream("", Buffer.from(drawPage(layout, size, colors))),
    ...(logo === undefined
      ? []
      : [
          await stream(
            `/Type /XObject /Subtype /Image /Width ${logo.width} /Height ${logo.height} /ColorSpace /DeviceRGB /BitsPerComponent 8`,
            logo.rgb,
          ),
        ]),
  ]);
}

function drawPage({ cells, boxes, logo }: Layout, size: number, colors: Colors): string {
  const scale = size / cells;
  return [
    // From here on, units are modules, and y points down.
    `${scale} 0 0 ${-scale} 0 ${size} cm\n`,
    `${fill(colors.background)}0 0 ${cells} ${cells} re f\n`,
    `${fill(colors.foreground)}${tracePath(boxes, PEN)}f*\n`,
    // The image itself is a square of one unit, whose y points up.
    logo === undefined
      ? ""
      : `${round(logo.width)} 0 0 ${round(-logo.height)} ${round(logo.x)} ${round(logo.y + logo.height)} cm /Logo Do\n`,
  ].join("");
}

const fill = (color: string): string =>
  `${channelsOf(color)
    .map((value) => round(value / 255))
    .join(" ")} rg\n`;

const dictionary = (entries: string): Buffer => Buffer.from(`<< ${entries} >>`);

async function stream(entries: string, content: Uint8Array): Promise<Buffer> {
  const data = await compress(content);
  const head = dictionary(`${entries} /Length ${data.length} /Filter /FlateDecode`);
  return Buffer.concat([head, Buffer.from("\nstream\n"), data, Buffer.from("\nendstream")]);
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
    const part = Buffer.concat([
      Buffer.from(`${index + 1} 0 obj\n`),
      object,
      Buffer.from("\nendobj\n"),
    ]);
    parts.push(part);
    offset += part.length;
  }
  const table = `xref\n0 ${entries.length}\n${entries.join("")}trailer\n<< /Size ${entries.length} /Root 1 0 R >>\nstartxref\n${offset}\n%%EOF\n`;
  return new Uint8Array(Buffer.concat([...parts, Buffer.from(table)]));
}
