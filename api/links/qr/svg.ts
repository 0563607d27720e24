/** QR codes as SVG images. */
import type { QrStyle } from "../../../shared/contracts/qr-style.ts";
import type { Layout } from "./layout.ts";
import { type Pen, type Point, round, tracePath } from "./path.ts";

type Colors = Pick<QrStyle, "foreground" | "background">;

const PEN: Pen = {
  move: (x, y) => `M${round(x)} ${round(y)}`,
  line: (x, y) => `L${round(x)} ${round(y)}`,
  corner: ([x, y], _, to: Point) => {
    const radius = round(Math.abs(to[0] - x) || Math.abs(to[1] - y));
    return `A${radius} ${radius} 0 0 1 ${to.map(round).join(" ")}`;
  },
  close: "Z",
};

/** Draws an image of `size` × `size` pixels, with the logo as a PNG image within it. */
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
    `<path fill="${foreground}" fill-rule="evenodd" d="${tracePath(boxes, PEN)}"/>`,
    `${image}</svg>\n`,
  ].join("");
}
