/** What a legitimate client must not notice of an attack. */
import type { LegitimateClient } from "../loads/legitimate-client.ts";

/** Requests within which some must be answered on either side: it sends 40 times a second. */
const REQUESTS_MIN = 100;

/** It gets its own responses, or 503. */
export const CLIENT_SERVED = {
  name: "a legitimate client gets its own responses",
  verify({ load: { alone, beside } }: { load: LegitimateClient }): Promise<string> {
    const problems = [...beside.wrong, ...beside.failed];
    if (problems.length > 0) throw new Error(problems.join("; "));
    const sides = ["redirector", "api"] as const;
    for (const side of sides)
      if (beside[side].count < REQUESTS_MIN)
        throw new Error(`Only ${beside[side].count} requests to the ${side} were answered.`);
    const times = sides.map(
      (side) =>
        `${side} p99 ${Math.round(beside[side].p99)} ms, alone ${Math.round(alone[side].p99)}`,
    );
    return Promise.resolve(`${times.join("; ")}; ${beside.unavailable} answers 503`);
  },
};
