/** An upgrade to a newer build while requests arrive. */
import { strict as assert } from "node:assert";
import { join } from "node:path";

import * as z from "zod";

import { API_URL, createCalls, SERVICES, SHORT_HOST } from "./calls.ts";
import type { Context } from "./install.ts";

const LOAD = join(import.meta.dir, "load.ts");

const countsSchema = z.record(z.string(), z.number());

export async function upgrade(context: Context): Promise<void> {
  const { machine, key } = context;
  context.addRelease(2);
  const calls = createCalls(context);
  const link = await calls.createLink("upgraded");
  const before = await readProcesses(context);

  const load = (url: string, ...rest: string[]) =>
    machine.spawnInNetwork([process.execPath, LOAD, url, SHORT_HOST, ...rest]);
  const redirects = load(`http://127.0.0.1/${link.alias}`);
  const reads = load(`${API_URL}/v1/links/${link.id}`, key);
  await context.runBlock("upgrade", 2);
  await calls.waitUntilReady();
  for (const child of [redirects, reads]) child.kill("SIGTERM");
  const [followed, read] = await Promise.all(
    [redirects, reads].map(async ({ stdout }) =>
      countsSchema.parse(JSON.parse(await new Response(stdout).text())),
    ),
  );

  console.log(`    ${JSON.stringify(followed)} redirects, ${JSON.stringify(read)} reads`);
  assert.deepEqual(Object.keys(followed ?? {}), ["302"]);
  // The account's limit of requests is part of the API's work.
  assert.deepEqual(
    Object.keys(read ?? {}).filter((status) => status !== "429"),
    ["200"],
  );
  await calls.expectClicks(link, followed?.["302"] ?? 0);
  const after = await readProcesses(context);
  for (const service of SERVICES) assert.notEqual(after.get(service), before.get(service), service);
}

/** The process id of each service. */
async function readProcesses({ machine }: Context): Promise<Map<string, string>> {
  const pids = await Promise.all(
    SERVICES.map((service) => machine.run(`systemctl show --property=MainPID --value ${service}`)),
  );
  return new Map(SERVICES.map((service, i) => [service, (pids[i] ?? "").trim()]));
}
