/** Generates an input from a route and a seed: bytes, and how to send them. */
import { createRandom, type Random } from "../harness/random.ts";
import { CONTENTS } from "./contents.ts";
import { DELIVERIES } from "./deliveries.ts";
import { FRAMINGS } from "./framings.ts";
import { type Generator, type Payload, toPayload } from "./payload.ts";
import type { Draft, Fixtures, HttpRequest } from "./requests.ts";
import type { Route } from "./routes.ts";

export type Input = Required<Payload> & {
  index: number;
  route: Route;
  generator: GeneratorName;
};

const toGenerator =
  (make: (draft: Draft) => HttpRequest): Generator =>
  (draft) =>
    toPayload(make(draft));

const GENERATORS = {
  nested: toGenerator(CONTENTS.nested),
  wide: toGenerator(CONTENTS.wide),
  long: toGenerator(CONTENTS.long),
  odd: toGenerator(CONTENTS.odd),
  misencoded: toGenerator(CONTENTS.misencoded),
  headers: toGenerator(CONTENTS.headers),
  foreign: toGenerator(CONTENTS.foreign),
  ...FRAMINGS,
  ...DELIVERIES,
} satisfies Record<string, Generator>;

export type GeneratorName = keyof typeof GENERATORS;

// The literal has exactly these keys.
export const GENERATOR_NAMES = Object.keys(GENERATORS) as GeneratorName[];

/** Hashes a seed with a number, so that neighbouring numbers give unrelated seeds. */
const mix = (seed: number, index: number): number =>
  Math.imul(seed ^ Math.imul(index + 1, 0x9e3779b1), 0x85ebca6b) >>> 0;

/** Marks a request with its input's index, which response headers may echo. */
export const createMark = (index: number): string => `hl-${index}-`;

/**
 * The inputs of a seed: each depends only on its index, so that any of them can be replayed. In
 * each round every route meets every generator once, and all routes are attacked from the start.
 */
export function createInputs(seed: number, routes: readonly Route[], fixtures: Fixtures) {
  const perRound = routes.length * GENERATOR_NAMES.length;
  const rounds = new Map<number, [Route, GeneratorName][]>();

  function orderRound(round: number): [Route, GeneratorName][] {
    const known = rounds.get(round);
    if (known !== undefined) return known;
    const random = createRandom(mix(seed, -1 - round));
    const generators = routes.map((route) => ({ route, order: shuffle(GENERATOR_NAMES, random) }));
    // Each turn visits every route once, in a different order.
    const order = GENERATOR_NAMES.flatMap((_, turn) =>
      shuffle(generators, random).flatMap(({ route, order: names }): [Route, GeneratorName][] => {
        const name = names[turn];
        return name === undefined ? [] : [[route, name]];
      }),
    );
    if (rounds.size > 1) rounds.clear();
    rounds.set(round, order);
    return order;
  }

  return {
    make(index: number): Input {
      const pair = orderRound(Math.floor(index / perRound))[index % perRound];
      if (pair === undefined) throw new Error("There are no routes.");
      const [route, generator] = pair;
      const random = createRandom(mix(seed, index));
      const payload = GENERATORS[generator]({ random, route, fixtures, mark: createMark(index) });
      return {
        index,
        route,
        generator,
        copies: 1,
        complete: true,
        delivery: { kind: "whole" },
        ...payload,
      };
    },
  };
}

function shuffle<T>(items: readonly T[], random: Random): T[] {
  const shuffled = [...items];
  for (let i = shuffled.length - 1; i > 0; i--) {
    const j = random.between(0, i);
    const [a, b] = [shuffled[i], shuffled[j]];
    if (a !== undefined && b !== undefined) [shuffled[i], shuffled[j]] = [b, a];
  }
  return shuffled;
}
