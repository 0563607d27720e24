/**
 * The seed of a run's random tests: another one each time, so that every run asks what none has
 * asked. A failed run is repeated by `SHORTHOP_TEST_SEED`.
 */
const SEEDS = 2 ** 31;

const given = process.env["SHORTHOP_TEST_SEED"];

export const SEED = given === undefined ? Math.floor(Math.random() * SEEDS) : Number(given);

console.log(`SHORTHOP_TEST_SEED=${SEED}`);
