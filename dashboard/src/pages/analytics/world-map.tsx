/** Clicks by country on a world map. The shapes are Natural Earth's, which are in the public domain. */
import { geoNaturalEarth1, geoPath } from "d3-geo";
import codes from "i18n-iso-countries/codes.json";
import { useMemo, useState } from "react";
import { feature } from "topojson-client";
import type { GeometryCollection, Topology } from "topojson-specification";
import world from "world-atlas/countries-110m.json";

import { countryName, formatCount } from "../../ui/format.ts";

const WIDTH = 800;
const HEIGHT = 390;
const SHADES = 5;

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
}: {
  countries: readonly { country: string; clicks: number }[];
}) {
  const shapes = useMemo(drawShapes, []);
  const [hovered, setHovered] = useState<string>();
  const clicks = new Map(countries.map(({ country, clicks }) => [country, clicks]));
  const maxClicks = Math.max(1, ...clicks.values());
  /** Returns the shade on a logarithmic scale: usually one country has most of the clicks. */
  const getShade = (code: string): number => {
    const value = clicks.get(code) ?? 0;
    return value === 0 ? 0 : Math.ceil((Math.log1p(value) / Math.log1p(maxClicks)) * SHADES);
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
          />
        ))}
      </svg>
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
