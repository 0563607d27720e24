/** Clicks by country on a map of the world. Its shapes are Natural Earth's, which are in the public domain. */
import { geoNaturalEarth1, geoPath } from "d3-geo";
import codes from "i18n-iso-countries/codes.json";
import { useMemo, useState } from "react";
import { feature } from "topojson-client";
import type { GeometryCollection, Topology } from "topojson-specification";
import world from "world-atlas/countries-110m.json";

import { count, countryName } from "../../ui/format.ts";

const WIDTH = 800;
const HEIGHT = 390;
const SHADES = 5;

/** Countries by their number (ISO 3166-1), which is what the map has. */
const ALPHA2 = new Map(codes.map(([alpha2 = "", , number = ""]) => [number, alpha2]));

type Shape = { code: string; path: string; key: string };

function drawShapes(): Shape[] {
  // The package's file is of this form; TypeScript sees its text as wider.
  const topology = world as unknown as Topology<{ countries: GeometryCollection }>;
  const countries = feature(topology, topology.objects.countries);
  const projection = geoNaturalEarth1().fitSize([WIDTH, HEIGHT], countries);
  const draw = geoPath(projection);
  return countries.features.flatMap((country, i) => {
    const code = ALPHA2.get(String(country.id ?? "")) ?? "";
    // Nobody clicks in Antarctica, and it takes a fifth of the map.
    return code === "AQ" ? [] : [{ code, path: draw(country) ?? "", key: `${code} ${i}` }];
  });
}

export function WorldMap({
  countries,
}: {
  countries: readonly { country: string; clicks: number }[];
}) {
  const shapes = useMemo(drawShapes, []);
  const [pointed, setPointed] = useState<string>();
  const clicks = new Map(countries.map(({ country, clicks }) => [country, clicks]));
  const most = Math.max(1, ...clicks.values());
  /** By the logarithm: one country has most of the clicks, as a rule. */
  const shadeOf = (code: string): number => {
    const found = clicks.get(code) ?? 0;
    return found === 0 ? 0 : Math.ceil((Math.log1p(found) / Math.log1p(most)) * SHADES);
  };
  return (
    <figure className="map">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label="Map of clicks by country; the list beside it has the numbers."
        onPointerLeave={() => setPointed(undefined)}
      >
        {shapes.map(({ code, path, key }) => (
          <path
            key={key}
            d={path}
            className={`country shade-${shadeOf(code)}`}
            data-country={code}
            onPointerEnter={() => setPointed(code)}
          />
        ))}
      </svg>
      <figcaption className="tip">
        {pointed !== undefined && pointed !== "" && (
          <>
            <strong>{countryName(pointed)}</strong> {count(clicks.get(pointed) ?? 0)} clicks
          </>
        )}
      </figcaption>
    </figure>
  );
}
