/**
 * Sends requests until it is told to stop, and prints how many got which status: `bun load.ts URL
 * HOST PER_SECOND [KEY]`. Half of them reuse connections like a proxy, half open new ones like
 * visitors.
 */
import { Agent, request } from "node:http";

import { SLOWDOWN_MAX } from "../harness/eventually.ts";
import { BROWSER } from "./calls.ts";

/** After this, a request counts as failed. */
const RESPONSE_MS_MAX = 10_000 * SLOWDOWN_MAX;

/** Longer than any upgrade takes. */
const DURATION_MS_MAX = 900_000;

const [url = "", host = "", perSecond, key] = process.argv.slice(2);
const headers = {
  host,
  "user-agent": BROWSER,
  ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
};
const counts: Record<string, number> = {};
let stopping = false;
process.on("SIGTERM", () => {
  stopping = true;
});
// Its parent may have been killed.
setTimeout(() => {
  stopping = true;
}, DURATION_MS_MAX).unref();

const send = (agent: Agent): Promise<string> =>
  new Promise((resolve) => {
    const sent = request(url, { agent, headers, timeout: RESPONSE_MS_MAX }, (response) => {
      response.resume();
      response.on("end", () => resolve(String(response.statusCode)));
      response.on("error", (error) => resolve(String(error)));
    });
    sent.on("timeout", () => sent.destroy(new Error("No response.")));
    sent.on("error", (error) => resolve(String(error)));
    sent.end();
  });

async function sendAll(agent: Agent): Promise<void> {
  let due = performance.now();
  while (!stopping) {
    const result = await send(agent);
    counts[result] = (counts[result] ?? 0) + 1;
    due += 2_000 / Number(perSecond);
    const ahead = due - performance.now();
    if (ahead > 0) await Bun.sleep(ahead);
  }
}

await Promise.all([
  sendAll(new Agent({ keepAlive: true, maxSockets: 1 })),
  sendAll(new Agent({ keepAlive: false })),
]);
console.log(JSON.stringify(counts));
process.exit();
