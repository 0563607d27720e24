/** What is measured: a route, and the parts of its requests that are filled up to their bounds. */
import { createValidRequest, type Fixtures, type HttpRequest, toBytes } from "../requests.ts";
import { formatRoute, listRoutes, type Route, type Surface } from "../routes.ts";
import { sendInput } from "../wire.ts";
import { CALL_PARTS, hasPart } from "./calls.ts";
import type { Sent } from "./measure.ts";
import { type Combination, coverLevels, coverPairs } from "./pairs.ts";
import { fillRequest, type Part, type Parts, PLAIN } from "./part.ts";

export type Target = {
  name: string;
  route: Route;
  base: HttpRequest;
  /** Filled in every combination. */
  always: Part;
  parts: Parts;
  combinations: readonly Combination[];
};

/** The parts of a combination, with the one that is always filled. */
export const listParts = ({ always, parts }: Target, combination: Combination): Part[] => [
  always,
  ...Object.entries(combination).flatMap(([group, level]) => parts[group]?.[level] ?? []),
];

/** The filled parts of a combination. */
export const describeParts = (combination: Combination): string =>
  Object.entries(combination)
    .filter(([, level]) => level !== "plain")
    .map(([group, level]) => `${group}: ${level}`)
    .join(", ");

type Sending = {
  share: number;
  /** Different for each request. */
  number: number;
  fixtures: Pick<Fixtures, "linkId" | "cookies">;
};

/** Sends a request whose parts are filled up to a share of their bounds. */
export async function sendFilled(
  { route, base }: Pick<Target, "route" | "base">,
  parts: readonly Part[],
  { share, number, fixtures: { linkId, cookies } }: Sending,
  ports: Readonly<Record<Surface, number>>,
): Promise<Sent> {
  const filling = { share, nonce: `n${number.toString(36)}`, route, linkId };
  // An address of its own for each request: limits by network must not keep it from the parsers.
  const address = `100.${64 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
  // A session has a limit, too.
  const cookie = cookies[number % cookies.length];
  const headers = base.headers.map(([name, value]): [string, string] => {
    if (name === "X-Forwarded-For") return [name, address];
    const isSession = name === "Cookie" && cookies.includes(value);
    return [name, isSession && cookie !== undefined ? cookie : value];
  });
  const bytes = toBytes(fillRequest({ ...base, headers }, parts, filling));
  const input = {
    bytes,
    methods: [base.method],
    delivery: { kind: "whole" },
    complete: true,
  } as const;
  const { responses } = await sendInput(input, ports[route.surface]);
  return { bytes: bytes.length, status: responses[0]?.status ?? 0 };
}

/**
 * Chooses the first of a choice and the most of a range: the same valid request of a route each
 * time.
 */
const STEADY = {
  between: (_: number, max: number): number => max,
  pick: <T>([first]: readonly [T, ...T[]]): T => first,
};

/** A valid request of the route, without a query. */
export const createBase = (route: Route, fixtures: Fixtures): HttpRequest => ({
  ...createValidRequest({ random: STEADY, route, fixtures, mark: "cost" }),
  query: [],
});

/** All pairs of levels, or each level once. */
export function combine(parts: Parts, pairwise: boolean): Combination[] {
  const factors = Object.fromEntries(
    Object.entries(parts).map(([group, levels]) => [group, Object.keys(levels)]),
  );
  return pairwise ? coverPairs(factors) : coverLevels(factors);
}

/** The calls of the routes of the API and the dashboard that `accepts` chooses. */
export const createCalls = (
  fixtures: Fixtures,
  linkId: string,
  pairwise: boolean,
  accepts: (route: Route) => boolean,
): Target[] =>
  listRoutes()
    .filter((route) => (route.surface === "api" || route.surface === "dashboard") && accepts(route))
    .map((route) => {
      const groups = Object.entries(CALL_PARTS).filter(([group]) => hasPart(route, group));
      const parts: Parts = Object.fromEntries(groups);
      return {
        name: formatRoute(route),
        route,
        // Changes go to another link, so that this one keeps its rules.
        base: createBase(route, route.method === "PATCH" ? fixtures : { ...fixtures, linkId }),
        always: PLAIN,
        parts,
        combinations: combine(parts, pairwise),
      };
    });
