/**
 * `bun run bench:api`: the cost of keys, scopes and limits. Authenticated `GET /v1/links/{id}` on one API process
 * against the same app with only the query, alternating within one run.
 */
import { version as elysiaVersion } from "elysia/package.json";

import { createAccount } from "../test/harness/admin.ts";
import { call, linkSchema } from "../test/harness/api.ts";
import { startStack } from "../test/harness/stack.ts";
import { measure, type Measured } from "./load.ts";
import { median, publish, round } from "./report.ts";

const ROUNDS = 3;
const SECONDS = 8;
const CONNECTIONS = 50;
const FIXED_RATE = 500;

/** Far above what the benchmark reaches, within PostgreSQL's integer. */
const UNLIMITED = 1_000_000_000;

await using stack = await startStack();
const { api_url, database_url, pids } = stack.info();
const { id: account, key } = await createAccount(stack, "enterprise", {
  minute: UNLIMITED,
  day: UNLIMITED,
  burst: UNLIMITED,
});
const { body } = await call(`${api_url}/v1/links`, {
  key,
  body: { url: "https://example.com/bench" },
});
const path = `/v1/links/${linkSchema.parse(body).id}`;
const headers = { authorization: `Bearer ${key}` };
const bare = await startBare({ DATABASE_URL: database_url, ACCOUNT: account });
const apiPid = pids.api ?? 0;

const load = { connections: CONNECTIONS, seconds: SECONDS, headers };
const runs: Record<"api" | "bare", Measured[]> = { api: [], bare: [] };
await measure(apiPid, { ...load, seconds: 2, url: `${api_url}${path}` });
await measure(bare.pid, { ...load, seconds: 2, url: `${bare.url}${path}` });
for (let i = 0; i < ROUNDS; i++) {
  runs.api.push(await measure(apiPid, { ...load, url: `${api_url}${path}` }));
  runs.bare.push(await measure(bare.pid, { ...load, url: `${bare.url}${path}` }));
}
const fixed = await measure(apiPid, { ...load, rate: FIXED_RATE, url: `${api_url}${path}` });
process.kill(bare.pid);

const summary = (name: string, measured: readonly Measured[]) => ({
  server: name,
  "requests/s": round(median(measured.map((run) => run.requestsPerSecond))),
  "CPU µs/request": round(median(measured.map((run) => run.cpuMicrosPerRequest))),
  "p50 ms": round(median(measured.map((run) => run.p50Ms))),
  "p99 ms": round(median(measured.map((run) => run.p99Ms))),
});
const api = summary("api: key, scope, limits, link", runs.api);
const bareSummary = summary("bare: link", runs.bare);
const ratio = round(api["requests/s"] / bareSummary["requests/s"]);

publish({
  name: "api",
  versions: { bun: Bun.version, elysia: elysiaVersion },
  rows: [api, bareSummary, summary(`api at ${FIXED_RATE} requests/s`, [fixed])],
  targets: [
    { name: "requests/s of api : bare", value: ratio, target: ">= 0.5", met: ratio >= 0.5 },
  ],
});

async function startBare(env: Record<string, string>): Promise<{ url: string; pid: number }> {
  const child = Bun.spawn([process.execPath, `${import.meta.dir}/api-bare.ts`], {
    env: { ...process.env, ...env },
    stdout: "pipe",
  });
  for await (const chunk of child.stdout) {
    const port = /listening on (\d+)/.exec(new TextDecoder().decode(chunk))?.[1];
    if (port !== undefined) return { url: `http://127.0.0.1:${port}`, pid: child.pid };
  }
  throw new Error("The bare server did not start.");
}
