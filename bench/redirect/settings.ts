/** Redirect settings of the links of the redirect benchmark: rules and a split. */
import type { Condition, RedirectSettings } from "../../shared/contracts/redirect-settings.ts";
import { newUuid } from "../../shared/ids.ts";

/**
 * Conditions as people set them; none matches the benchmark's requests, so that every rule is read.
 */
const CONDITIONS: readonly Condition[] = [
  { type: "os", in: ["iOS"] },
  { type: "device", in: ["mobile", "tablet"] },
  { type: "language", in: ["ja", "ko"] },
  { type: "browser", in: ["Samsung Internet"] },
  { type: "query", name: "source", in: ["poster"] },
];

/** `count` rules of one condition each. */
export const rulesOf = (count: number): RedirectSettings => ({
  rules: Array.from({ length: count }, (_, i) => ({
    id: newUuid(),
    url: `https://example.com/rule/${i}`,
    conditions: [CONDITIONS[i % CONDITIONS.length] ?? { type: "os", in: ["iOS"] }],
  })),
});

/** A limit of the link's own that is never reached. */
export const limitOf = (): RedirectSettings => ({
  limit: { id: newUuid(), max: 1_000_000_000, before: 0, stored: 0 },
});

export const SPLIT: RedirectSettings = {
  split: {
    key: 1,
    arms: [
      { id: newUuid(), url: "https://example.com/b", weight: 30 },
      { id: newUuid(), url: "https://example.com/c", weight: 30 },
    ],
  },
};
