/** The shapes of countries on a world map: Natural Earth's, which are in the public domain. */
import { type GeoContext, geoNaturalEarth1, geoPath } from "d3-geo";
import codes from "i18n-iso-countries/codes.json";
import { feature } from "topojson-client";
import type { GeometryCollection, Topology } from "topojson-specification";
import world from "world-atlas/countries-110m.json";

/** The units of the coordinates, which are whole numbers: a map is drawn about this wide. */
export const WIDTH = 1_000;
export const HEIGHT = 450;

/** Alpha-2 codes by numeric code (ISO 3166-1); the map has numeric ones. */
const ALPHA2 = new Map(codes.map(([alpha2 = "", , number = ""]) => [number, alpha2]));

/** A country, or a part of one: its ISO 3166-1 alpha-2 code, or "", and its path. */
export type Shape = { code: string; path: string; key: string };

let drawn: Shape[] | undefined;

/** The shapes, drawn once: they are the same on every map. Builds of the dashboard contain them. */
export const findShapes = (): Shape[] => (drawn ??= drawShapes());

const codeOf = ({ id }: { id?: string | number | undefined }): string =>
  ALPHA2.get(String(id ?? "")) ?? "";

function drawShapes(): Shape[] {
  // TypeScript infers a wider type from the JSON file.
  const topology = world as unknown as Topology<{ countries: GeometryCollection }>;
  const { features } = feature(topology, topology.objects.countries);
  // Antarctica has no clicks and would take a fifth of the map.
  const inhabited = features.filter((country) => codeOf(country) !== "AQ");
  const projection = geoNaturalEarth1().fitSize([WIDTH, HEIGHT], {
    type: "FeatureCollection",
    features: inhabited,
  });
  return inhabited.map((country, i) => {
    const context = createPathContext();
    geoPath(projection, context)(country);
    const code = codeOf(country);
    return { code, path: context.path(), key: `${code} ${i}` };
  });
}

/** Writes paths with relative whole numbers, in a third of the characters that d3-geo needs. */
function createPathContext(): GeoContext & { path: () => string } {
  let path = "";
  let [x, y] = [0, 0];
  return {
    path: () => path,
    moveTo(left, top) {
      [x, y] = [Math.round(left), Math.round(top)];
      path += `M${x} ${y}l`;
    },
    lineTo(left, top) {
      const [dx, dy] = [Math.round(left) - x, Math.round(top) - y];
      if (dx === 0 && dy === 0) return;
      [x, y] = [x + dx, y + dy];
      const separator = path.endsWith("l") || dx < 0 ? "" : " ";
      path += `${separator}${dx}${dy < 0 ? "" : " "}${dy}`;
    },
    closePath() {
      // Of an island smaller than a unit no point is left.
      path += path.endsWith("l") ? "0 1z" : "z";
    },
    beginPath: () => undefined,
    // Only of points, which the world has none of.
    arc: () => undefined,
  };
}
