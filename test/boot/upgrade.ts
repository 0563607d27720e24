/** An upgrade to a newer build while requests arrive. */
import { strict as assert } from "node:assert";
import { join } from "node:path";

import * as z from "zod";

import { LINKS_CHANGED } from "../harness/bulk-links.ts";
import { API_URL, Calls, SERVICES, SHORT_HOST } from "./calls.ts";
import type { Context } from "./install.ts";

const LOAD = join(import.meta.dir, "load.ts");

/** Few enough that also a slow machine stores the clicks while they arrive. */
const PER_SECOND = 50;

const countsSchema = z.record(z.string(), z.number());

export async function upgrade(context: Context): Promise<void> {
  const { machine, key } = context;
  context.addRelease(2);
  const calls = new Calls(context);
  const link = await calls.createLink("upgraded");
  const before = await readProcesses(context);
  const starts = await countWorkerStarts(context);

  const load = (url: string, perSecond: number, ...rest: string[]) =>
    machine.spawnInNetwork([process.execPath, LOAD, url, SHORT_HOST, String(perSecond), ...rest]);
  const loads = [
    load(`http://127.0.0.1/${link.alias}`, PER_SECOND),
    load(`${API_URL}/healthz`, PER_SECOND),
    // Below the limit of the account's plan.
    load(`${API_URL}/v1/links/${link.id}`, 4, key),
  ];
  try {
    await Promise.all([
      context.runBlock("upgrade", { revision: 2 }),
      context.bulk?.change(LINKS_CHANGED),
    ]);
  } finally {
    for (const child of loads) child.kill("SIGTERM");
  }
  const counts = await Promise.all(
    loads.map(async ({ stdout }) =>
      countsSchema.parse(JSON.parse(await new Response(stdout).text())),
    ),
  );

  console.log(`    redirects, health checks, reads: ${JSON.stringify(counts)}`);
  assert.deepEqual(
    counts.map((count) => Object.keys(count)),
    [["302"], ["200"], ["200"]],
  );
  await calls.waitUntilReady();
  await context.bulk?.expectCurrent("the upgrade");
  await calls.expectClicks(link, counts[0]?.["302"] ?? 0);
  // Only when the document says so: until then the schemas are migrated.
  assert.equal(await countWorkerStarts(context), starts + 1);
  const after = await readProcesses(context);
  for (const service of SERVICES) assert.notEqual(after.get(service), before.get(service), service);
}

/** Back to the release before, whose packages are still there; it is upgraded again afterwards. */
export async function rollBack(context: Context): Promise<void> {
  const calls = new Calls(context);
  const link = await calls.createLink("rolled-back");
  await calls.follow(link);
  await Promise.all([
    context.runBlock("rollback", { revision: 1 }),
    context.bulk?.change(LINKS_CHANGED),
  ]);
  await calls.waitUntilReady();
  await context.bulk?.expectCurrent("the rollback");
  await calls.follow(link);
  await calls.expectClicks(link, 2);
  const versions = await context.machine.run(
    "dpkg-query --show --showformat='${Version}\\n' 'shorthop*' | sort --unique",
  );
  assert.match(versions, /^\S+-1\n$/);
  await context.runBlock("upgrade-by-hand", { revision: 2 });
  await calls.waitUntilReady();
}

/** The process id of each service. */
async function readProcesses({ machine }: Context): Promise<Map<string, string>> {
  const pids = await Promise.all(
    SERVICES.map((service) => machine.run(`systemctl show --property=MainPID --value ${service}`)),
  );
  return new Map(SERVICES.map((service, i) => [service, (pids[i] ?? "").trim()]));
}

const countWorkerStarts = async ({ machine }: Context): Promise<number> =>
  Number(
    await machine.run("journalctl --unit=shorthop-worker --output=cat | grep --count '^Started'"),
  );
