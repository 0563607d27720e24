/** Generates an input from a route and a seed: bytes, and how to send them. */
import { createRandom, shuffle } from "../harness/random.ts";
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
export class Inputs {
  readonly #seed: number;
  readonly #routes: readonly Route[];
  readonly #fixtures: Fixtures;
  readonly #perRound: number;
  readonly #rounds = new Map<number, [Route, GeneratorName][]>();

  constructor(seed: number, routes: readonly Route[], fixtures: Fixtures) {
    this.#seed = seed;
    this.#routes = routes;
    this.#fixtures = fixtures;
    this.#perRound = routes.length * GENERATOR_NAMES.length;
  }

  make(index: number): Input {
    const pair = this.#orderOf(Math.floor(index / this.#perRound))[index % this.#perRound];
    if (pair === undefined) throw new Error("There are no routes.");
    const [route, generator] = pair;
    const random = createRandom(mix(this.#seed, index));
    const draft = { random, route, fixtures: this.#fixtures, mark: createMark(index) };
    return {
      index,
      route,
      generator,
      copies: 1,
      complete: true,
      delivery: { kind: "whole" },
      ...GENERATORS[generator](draft),
    };
  }

  #orderOf(round: number): [Route, GeneratorName][] {
    const known = this.#rounds.get(round);
    if (known !== undefined) return known;
    const random = createRandom(mix(this.#seed, -1 - round));
    const generators = this.#routes.map((route) => ({
      route,
      order: shuffle(random, GENERATOR_NAMES),
    }));
    // Each turn visits every route once, in a different order.
    const order = GENERATOR_NAMES.flatMap((_, turn) =>
      shuffle(random, generators).flatMap(({ route, order: names }): [Route, GeneratorName][] => {
        const name = names[turn];
        return name === undefined ? [] : [[route, name]];
      }),
    );
    if (this.#rounds.size > 1) this.#rounds.clear();
    this.#rounds.set(round, order);
    return order;
  }
}
