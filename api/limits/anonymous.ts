/**
 * The limit for requests without a valid key, by client address: it guards the service against guessing
 * and noise.
 */
import { createLocalLimit, type LocalLimit } from "./local-limit.ts";

export type AnonymousLimit = LocalLimit;

/** Requests without a valid key that one address may make a minute, and how many are remembered. */
export const createAnonymousLimit = (): AnonymousLimit =>
  createLocalLimit({ name: "address", allowed: 60, seconds: 60, keysMax: 50_000 });
