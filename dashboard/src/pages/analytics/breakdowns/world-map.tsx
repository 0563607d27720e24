/** Clicks by country on a world map. The shapes are Natural Earth's, which are in the public domain. */
import { geoNaturalEarth1, geoPath } from "d3-geo";
import { scaleQuantile } from "d3-scale";
import codes from "i18n-iso-countries/codes.json";
import { useMemo, useState } from "react";
import { feature } from "topojson-client";
import type { GeometryCollection, Topology } from "topojson-specification";
import world from "world-atlas/countries-110m.json";

import { countryName, formatCount } from "../../../ui/format.ts";

const WIDTH = 800;
const HEIGHT = 390;
/**
 * Each shade has as many countries as the others, so that one with most of the clicks does not fade
 * the rest.
 */
const SHADES = [1, 2, 3, 4, 5];

/** Alpha-2 codes by numeric code (ISO 3166-1); the map has numeric ones. */
const ALPHA2 = new Map(codes.map(([alpha2 = "", , number = ""]) => [number, alpha2]));

type Shape = { code: string; path: string; key: string };

function drawShapes(): Shape[] {
  // TypeScript infers a wider type from the JSON file.
  const topology = world as unknown as Topology<{ countries: GeometryCollection }>;
  const countries = feature(topology, topology.objects.countries);
  const projection = geoNaturalEarth1().fitSize([WIDTH, HEIGHT], countries);
  const drawPath = geoPath(projection);
  return countries.features.flatMap((country, i) => {
    const code = ALPHA2.get(String(country.id ?? "")) ?? "";
    // Antarctica has no clicks and would take a fifth of the map.
    return code === "AQ" ? [] : [{ code, path: drawPath(country) ?? "", key: `${code} ${i}` }];
  });
}

export function WorldMap({
  countries,
  onSelect,
}: {
  countries: readonly { country: string; clicks: number }[];
  onSelect: (country: string) => void;
}) {
  const shapes = useMemo(drawShapes, []);
  const [hovered, setHovered] = useState<string>();
  const clicks = new Map(countries.map(({ country, clicks }) => [country, clicks]));
  const shadeOf = scaleQuantile().domain(clicks.values()).range(SHADES);
  const getShade = (code: string): number => {
    const value = clicks.get(code) ?? 0;
    return value === 0 ? 0 : shadeOf(value);
  };
  return (
    <figure className="map">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label="Map of clicks by country; the list next to it has the numbers."
        onPointerLeave={() => setHovered(undefined)}
      >
        {shapes.map(({ code, path, key }) => (
          <path
            key={key}
            d={path}
            className={`country shade-${getShade(code)}`}
            data-country={code}
            onPointerEnter={() => setHovered(code)}
            {...(clicks.has(code) ? { onClick: () => onSelect(code) } : {})}
          />
        ))}
      </svg>
      {clicks.size > SHADES.length && <Scale limits={shadeOf.quantiles()} />}
      <figcaption className="tooltip">
        {hovered !== undefined && hovered !== "" && (
          <>
            <strong>{countryName(hovered)}</strong> {formatCount(clicks.get(hovered) ?? 0)} clicks
          </>
        )}
      </figcaption>
    </figure>
  );
}

/** The minimum number of clicks for each shade. */
const Scale = ({ limits }: { limits: readonly number[] }) => (
  <ul className="map-scale" aria-label="Clicks by shade">
    {SHADES.map((shade) => (
      <li key={shade} className={`shade-${shade}`}>
        {shade === 1 ? "fewer" : `≥ ${formatCount(Math.ceil(limits[shade - 2] ?? 0))}`}
      </li>
    ))}
  </ul>
);
