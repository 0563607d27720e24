/** Clicks by country on a world map. */
import { scaleQuantile } from "d3-scale";
import { memo, type ReactNode } from "react";

import { countryName, formatCount } from "./format.ts";
import { useStatisticsLanguage } from "./language.ts";
import { findShapes, HEIGHT, type Shape, WIDTH } from "./world-shapes.ts";

/**
 * Each shade has as many countries as the others, so that one with most of the clicks does not fade
 * the rest.
 */
const SHADES = [1, 2, 3, 4, 5];

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
  /** Called with the code of a country that has clicks. Neither function may change needlessly. */
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
        {findShapes().map((shape) =>
          onHover === undefined && isEmpty(shape.code) ? null : (
            <Country
              key={shape.key}
              shape={shape}
              shade={getShade(shape.code)}
              onSelect={isEmpty(shape.code) ? undefined : onSelect}
              onHover={onHover}
              title={
                onHover === undefined
                  ? translate("clicksOf", {
                      name: countryName(shape.code, tag),
                      clicks: clicks.get(shape.code) ?? 0,
                    })
                  : undefined
              }
            />
          ),
        )}
      </svg>
      {clicks.size > SHADES.length && <Scale limits={shadeOf.quantiles()} />}
      {caption !== undefined && <figcaption className="tooltip">{caption}</figcaption>}
    </figure>
  );
}

type CountryProps = {
  shape: Shape;
  shade: number;
  onSelect: ((country: string) => void) | undefined;
  onHover: ((country: string) => void) | undefined;
  title: string | undefined;
};

/** Renders again only when its shade changes: most stay the same from one period to another. */
const Country = memo(function Country({
  shape: { code, path },
  shade,
  onSelect,
  onHover,
  title,
}: CountryProps) {
  return (
    <path
      d={path}
      className={`country shade-${shade}`}
      data-country={code}
      {...(onHover && { onPointerEnter: () => onHover(code) })}
      {...(onSelect && { onClick: () => onSelect(code) })}
    >
      {title !== undefined && <title>{title}</title>}
    </path>
  );
});

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
