/**
 * Clicks by country on a world map. The shapes are Natural Earth's, which are in the public domain.
 */
import { type GeoContext, geoNaturalEarth1, geoPath } from "d3-geo";
import { scaleQuantile } from "d3-scale";
import codes from "i18n-iso-countries/codes.json";
import { type ReactNode } from "react";
import { feature } from "topojson-client";
import type { GeometryCollection, Topology } from "topojson-specification";
import world from "world-atlas/countries-110m.json";

import { countryName, formatCount } from "./format.ts";
import { useStatisticsLanguage } from "./language.ts";

/** The units of the coordinates, which are whole numbers: a map is drawn about this wide. */
const WIDTH = 1_000;
const HEIGHT = 450;
/**
 * Each shade has as many countries as the others, so that one with most of the clicks does not fade
 * the rest.
 */
const SHADES = [1, 2, 3, 4, 5];

/** Alpha-2 codes by numeric code (ISO 3166-1); the map has numeric ones. */
const ALPHA2 = new Map(codes.map(([alpha2 = "", , number = ""]) => [number, alpha2]));

type Shape = { code: string; path: string; key: string };

let drawn: Shape[] | undefined;

/** The shapes, drawn once: they are the same on every map. */
const findShapes = (): Shape[] => (drawn ??= drawShapes());

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

/** The shapes of countries as one: those without clicks look alike. */
const joinShapes = (isJoined: (code: string) => boolean): string =>
  findShapes()
    .filter(({ code }) => isJoined(code))
    .map(({ path }) => path)
    .join("");

export type CountryClicks = { country: string; clicks: number };

export function WorldMap({
  countries,
  onSelect,
  onHover,
  caption,
}: {
  countries: readonly CountryClicks[];
  /** Called with the code of a country that has clicks. */
  onSelect?: (country: string) => void;
  /**
   * Called with the code of the country under the pointer. Without it, the browser shows tooltips.
   */
  onHover?: (country: string | undefined) => void;
  caption?: ReactNode;
}) {
  const { tag, translate } = useStatisticsLanguage();
  const clicks = new Map(countries.map(({ country, clicks }) => [country, clicks]));
  const shadeOf = scaleQuantile().domain(clicks.values()).range(SHADES);
  const getShade = (code: string): number => {
    const value = clicks.get(code) ?? 0;
    return value === 0 ? 0 : shadeOf(value);
  };
  const isEmpty = (code: string) => !clicks.has(code);
  return (
    <figure className="map">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={translate("map")}
        onPointerLeave={onHover && (() => onHover(undefined))}
      >
        {onHover === undefined && <path d={joinShapes(isEmpty)} className="country shade-0" />}
        {findShapes().map(({ code, path, key }) =>
          onHover === undefined && isEmpty(code) ? null : (
            <path
              key={key}
              d={path}
              className={`country shade-${getShade(code)}`}
              data-country={code}
              onPointerEnter={onHover && (() => onHover(code))}
              {...(onSelect !== undefined && clicks.has(code)
                ? { onClick: () => onSelect(code) }
                : {})}
            >
              {onHover === undefined && (
                <title>
                  {translate("clicksOf", {
                    name: countryName(code, tag),
                    clicks: clicks.get(code) ?? 0,
                  })}
                </title>
              )}
            </path>
          ),
        )}
      </svg>
      {clicks.size > SHADES.length && <Scale limits={shadeOf.quantiles()} />}
      {caption !== undefined && <figcaption className="tooltip">{caption}</figcaption>}
    </figure>
  );
}

/** The minimum number of clicks for each shade. */
function Scale({ limits }: { limits: readonly number[] }) {
  const { tag, translate } = useStatisticsLanguage();
  return (
    <ul className="map-scale" aria-label={translate("mapScale")}>
      {SHADES.map((shade) => (
        <li key={shade} className={`shade-${shade}`}>
          {shade === 1
            ? translate("fewer")
            : `≥ ${formatCount(Math.ceil(limits[shade - 2] ?? 0), tag)}`}
        </li>
      ))}
    </ul>
  );
}
