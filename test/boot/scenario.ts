/** What happens to the installation, in this order: each step leaves it running. */
import { strict as assert } from "node:assert";

import { LINKS_BEFORE, LINKS_CHANGED, LINKS_MORE } from "../harness/bulk-links.ts";
import { eventually } from "../harness/eventually.ts";
import { REDIRECTORS, startBulkLinks } from "./bulk-links.ts";
import { Calls, SERVICES } from "./calls.ts";
import type { Context } from "./install.ts";
import { examine, updateGeoip } from "./operator.ts";
import { pool } from "./pooler.ts";
import { renewByCertbot, renewCertificate, serveTls } from "./tls.ts";
import { rollBack, upgrade } from "./upgrade.ts";

const RECOVERY_MS = 20_000;

/** Disk space of all packages together. */
const INSTALLED_KIB_MAX = 150 * 1024;

export const SCENARIO: [name: string, work: (context: Context) => Promise<void>][] = [
  ["the packages take no more space than they may", checkSize],
  ["after a reboot everything runs", reboot],
  ["GeoIP data is downloaded, checked and used", updateGeoip],
  ["status lists every process, and doctor finds nothing that fails", examine],
  ["thousands of links are made, and followed on both redirectors", makeManyLinks],
  ["a link is followed, and its click is in the analytics", followLink],
  ["killed processes are back, and no click is lost", killProcesses],
  ["links are followed while NATS and PostgreSQL are down", stopStores],
  ["a redirector serves TLS with a key that only root can read, and follows a renewal", tls],
  ["an upgrade fails no request and loses no click", upgrade],
  ["a rollback to the release before runs on the new schemas", rollBack],
  ["the links log has one consumer for the redirectors of the machine", expectConsumers],
  ["a redirector is removed with an empty journal", removeRedirector],
  ["a backup passes its drill, and is restored with an empty NATS", restore],
  ["PgBouncer in transaction mode is between the processes and PostgreSQL", pool],
  ["a removed package leaves its configuration, and nothing that runs", removePackage],
];

async function checkSize({ machine }: Context): Promise<void> {
  const sizes = await machine.run(
    "dpkg-query --show --showformat='${Installed-Size}\\n' 'shorthop*'",
  );
  const total = sizes
    .trim()
    .split("\n")
    .reduce((sum, size) => sum + Number(size), 0);
  console.log(`    ${(total / 1_024).toFixed(0)} MiB installed`);
  assert.ok(total <= INSTALLED_KIB_MAX, `${total} KiB`);
}

async function reboot(context: Context): Promise<void> {
  await context.machine.reboot();
  await new Calls(context).waitUntilReady();
}

/** Each step that takes something away changes some of them meanwhile. */
async function makeManyLinks(context: Context): Promise<void> {
  context.bulk = await startBulkLinks(context.machine, REDIRECTORS, "/root/shorthop.secrets");
  await context.bulk.prepare(LINKS_BEFORE);
}

async function expectConsumers({ bulk }: Context): Promise<void> {
  await bulk?.expectConsumers();
}

async function followLink(context: Context): Promise<void> {
  const calls = new Calls(context);
  const link = await calls.createLink("first");
  await calls.follow(link);
  await calls.expectClicks(link, 1);
  await eventually(async () => {
    const { summary } = await calls.readAnalytics(link);
    assert.equal(summary.total_clicks, 1);
  }, RECOVERY_MS);
}

async function killProcesses(context: Context): Promise<void> {
  const calls = new Calls(context);
  const link = await calls.createLink("killed");
  let followed = 0;
  for (const service of SERVICES) {
    await calls.follow(link);
    followed++;
    await context.machine.run(`systemctl kill --signal=KILL ${service}`);
    await context.bulk?.change(LINKS_CHANGED);
    await calls.waitUntilReady();
    await context.bulk?.expectCurrent(`a kill of ${service}`);
  }
  await context.bulk?.create(LINKS_MORE);
  for (const service of SERVICES.filter((name) => name.includes("redirector"))) {
    await context.machine.run(`systemctl stop ${service}`);
    await context.bulk?.change(LINKS_CHANGED);
    await context.machine.run(`systemctl start ${service}`);
    await calls.waitUntilReady();
    await context.bulk?.expectCurrent(`a stop of ${service}`);
  }
  await calls.expectClicks(link, followed);
}

async function stopStores(context: Context): Promise<void> {
  const calls = new Calls(context);
  const link = await calls.createLink("offline");
  // Into the memory of both redirectors, which share the port.
  for (let i = 0; i < FOLLOWED; i++) await calls.follow(link);
  await context.machine.run("systemctl stop nats-server postgresql");
  for (let i = 0; i < FOLLOWED; i++) await calls.follow(link);
  assert.equal((await calls.get("http://127.0.0.1/healthz")).status, 200);
  // Repeated until it is possible again.
  const changing = context.bulk?.change(LINKS_CHANGED);
  await context.machine.run("systemctl start nats-server postgresql");
  await calls.waitUntilReady();
  await changing;
  await context.bulk?.expectCurrent("a stop of NATS and PostgreSQL");
  await calls.expectClicks(link, 2 * FOLLOWED);
}

const FOLLOWED = 20;

async function tls(context: Context): Promise<void> {
  const calls = new Calls(context);
  const { machine } = context;
  const first = await serveTls(machine);
  await calls.waitUntilReady();
  const second = await renewCertificate(machine, RECOVERY_MS);
  assert.notEqual(first, second);
  await renewByCertbot(machine, RECOVERY_MS);
  await machine.run("systemctl disable --now --quiet shorthop-redirector@10");
}

async function removeRedirector(context: Context): Promise<void> {
  const calls = new Calls(context);
  const link = await calls.createLink("removed");
  for (let i = 0; i < FOLLOWED; i++) await calls.follow(link);
  const listing = await context.runBlock("remove-redirector");
  assert.doesNotMatch(listing, /^clicks\t[1-9]/m, listing);
  await calls.follow(link);
  await calls.expectClicks(link, FOLLOWED + 1);
  await context.machine.run("systemctl enable --now --quiet shorthop-redirector@2");
}

async function restore(context: Context): Promise<void> {
  const calls = new Calls(context);
  const link = await calls.createLink("restored");
  await calls.follow(link);
  await calls.expectClicks(link, 1);
  const drill = await context.runBlock("backup");
  assert.match(drill, /^links\t(\d+) of \1$/m, drill);
  assert.match(drill, /^clicks\t([1-9]\d*) of \1$/m, drill);
  const later = await calls.createLink("after-the-backup");
  await context.runBlock("restore");
  await calls.waitUntilReady();
  await calls.follow(link);
  await calls.expectClicks(link, 2);
  await eventually(async () => {
    assert.equal((await calls.get(`http://127.0.0.1/${later.alias}`)).status, 404);
  }, RECOVERY_MS);
}

async function removePackage({ machine }: Context): Promise<void> {
  await machine.run("apt-get remove --yes shorthop-redirector");
  const units = await machine.run(
    "systemctl list-units --all --plain --no-legend 'shorthop-redirector@*'",
  );
  assert.doesNotMatch(units, /running/);
  await machine.run(
    "test -s /etc/shorthop/redirector.env && test ! -e /etc/systemd/system/multi-user.target.wants/shorthop-redirector@1.service",
  );
  await machine.run("systemctl is-active shorthop-worker shorthop-api@1 shorthop-api@2");
}
