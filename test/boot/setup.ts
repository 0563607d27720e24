/**
 * `shorthop setup` on fresh machines: the operator's commands are those of docs/operations.md, and
 * counted. Wrong inputs change nothing, a second run changes nothing, damage is repaired, secrets
 * are rotated while visitors follow links, and runs that are killed are finished by the next one.
 */
import { strict as assert } from "node:assert";
import { cpSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { run } from "../../deploy/packages/run.ts";
import { eventually } from "../harness/eventually.ts";
import { PROJECT_DIR } from "../harness/stack.ts";
import { BROWSER, createCalls, SERVICES } from "./calls.ts";
import { CLICKHOUSE_SETTINGS, startGateway } from "./clickhouse.ts";
import { readBlocks } from "./document.ts";
import { bootMachine, type Machine, type Network } from "./machine.ts";
import { createRoot } from "./root.ts";

const DOMAIN = "go.shorthop.dev";
const FOLDER = "/root/release";
const SETTINGS = "/root/clickhouse.env";

/** What the machine of this test has: no terminal, and a ClickHouse that setup cannot install. */
const OPTIONS = `--domain ${DOMAIN} --file ${SETTINGS} --yes`;

/** Acceptance: to install, and to set up. */
const COMMANDS_MAX = 2;

const PER_SECOND = 50;
const RECOVERY_MS = 30_000;
const LOAD = join(import.meta.dir, "load.ts");

/** Each of these runs is killed after so many of its changes, the last but one at the latest. */
const CHANGES_BEFORE_KILL = 3;
const KILLED_RUNS_MAX = 60;

type Step = <T>(name: string, work: () => T | Promise<T>) => Promise<T>;

export async function runSetup(dir: string, step: Step): Promise<void> {
  run([process.execPath, "deploy/build.ts", "--revision", "1"], PROJECT_DIR);
  await withMachine(join(dir, "first"), step, async (machine) => {
    for (const [name, work] of WRONG_INPUTS)
      await step(`${name} is one line, and nothing is changed`, () => expectRefusal(machine, work));
    const key = await step("the documented commands lead to a redirect", () => install(machine));
    await use(machine, key, step);
  });
  await withMachine(join(dir, "killed"), step, async (machine) => {
    await step("runs that are killed are finished by the next one", () => killRuns(machine));
  });
  await joinMachines(dir, step);
}

/** A machine with the stores, and one of redirectors that joins it. */
async function joinMachines(dir: string, step: Step): Promise<void> {
  await using cleanup = new AsyncDisposableStack();
  const bridge = `shb-${process.pid}`;
  run(["ip", "link", "add", bridge, "type", "bridge"], "/");
  cleanup.defer(() => void run(["ip", "link", "delete", bridge], "/"));
  run(["ip", "link", "set", bridge, "up"], "/");
  const network = (address: string): Network => ({ bridge, address });
  await withMachine(
    join(dir, "stores"),
    step,
    (stores) =>
      withMachine(
        join(dir, "redirector"),
        step,
        (redirector) =>
          step("a host of redirectors joins with two commands, once", () =>
            joinMachine(stores, redirector),
          ),
        network(JOINING_ADDRESS),
      ),
    network(STORES_ADDRESS),
  );
}

const STORES_ADDRESS = "10.0.0.11";
const JOINING_ADDRESS = "10.0.0.14";

async function joinMachine(stores: Machine, redirector: Machine): Promise<void> {
  const installed = await stores.run(
    `cd ${FOLDER}; apt-get install --yes ./shorthop*.deb > /dev/null
shorthop setup ${OPTIONS} --stores ${STORES_ADDRESS}`,
  );
  const key = readKey(installed);
  const token = await invite(stores);
  const start = performance.now();
  const packages = "./shorthop_*.deb ./shorthop-redirector_*.deb";
  await redirector.run(`cd ${FOLDER}; apt-get install --yes ${packages} > /dev/null`);
  console.log(await redirector.run(`echo ${token} | shorthop setup --join ${STORES_ADDRESS}`));
  console.log(`    joined in ${((performance.now() - start) / 1_000).toFixed(1)} s`);
  const link = await createCalls({ machine: stores, key, host: DOMAIN }).createLink("joined");
  const calls = createCalls({ machine: redirector, key, host: DOMAIN });
  await eventually(() => calls.follow(link), RECOVERY_MS);
  await expectNoDifference(redirector);
  // Only what redirectors need.
  const names = await redirector.run("grep --only-matching '^[A-Z_]*' /etc/shorthop/secrets.env");
  assert.deepEqual(names.trim().split("\n"), ["NATS_REDIRECTOR", "UNLOCK_SECRET"]);
  await redirector.run(
    `echo ${token} | shorthop setup --join ${STORES_ADDRESS} 2>&1 | grep 'no open invitation'`,
  );
  // A rotation on the first host: links go on, and with another invitation changes do, too.
  await stores.run("shorthop setup --yes --rotate NATS_REDIRECTOR");
  await calls.follow(link);
  const again = await invite(stores);
  await redirector.run(`echo ${again} | shorthop setup --join ${STORES_ADDRESS}`);
  const later = await createCalls({ machine: stores, key, host: DOMAIN }).createLink("rejoined");
  await eventually(() => calls.follow(later), RECOVERY_MS);
  await createCalls({ machine: stores, key, host: DOMAIN }).expectClicks(link, 2);
}

/** Opens an invitation, which goes on after this returns; returns its token. */
async function invite(stores: Machine): Promise<string> {
  const child = stores.spawn("shorthop setup --invite redirector");
  let output = "";
  for await (const part of child.stdout) {
    output += new TextDecoder().decode(part);
    const [token] = /(?<= {4})[\w-]{64}(?= {2})/.exec(output) ?? [];
    if (token !== undefined) return token;
  }
  throw new Error(`No token: ${output} ${await new Response(child.stderr).text()}`);
}

/** Boots a fresh machine that has the release, the names of the domain, and ClickHouse's engine. */
async function withMachine(
  root: string,
  step: Step,
  work: (machine: Machine) => Promise<void>,
  network?: Network,
): Promise<void> {
  await using machine = await step("a fresh machine boots", async () => {
    await createRoot(root);
    mkdirSync(join(root, FOLDER));
    const dist = join(PROJECT_DIR, "dist");
    for (const name of readdirSync(dist).filter((file) => file.endsWith(".deb")))
      cpSync(join(dist, name), join(root, FOLDER, name));
    return await bootMachine(root, network);
  });
  try {
    await startGateway(machine);
    await machine.run(`install --mode=0600 /dev/null ${SETTINGS}; cat > ${SETTINGS} <<'END'\n${CLICKHOUSE_SETTINGS}END
echo "127.0.0.1 localhost ${DOMAIN} api.${DOMAIN} app.${DOMAIN}" >> /etc/hosts`);
    await work(machine);
  } catch (error) {
    console.error(
      await machine.run("journalctl --no-pager --lines=80").catch(() => machine.console()),
    );
    throw error;
  }
}

/** What is wrong, the commands that make it so, the options, the line, and how to undo it. */
type WrongInput = { before?: string; options?: string; line: RegExp; after?: string };

const WRONG_INPUTS: readonly [name: string, input: WrongInput][] = [
  [
    "a domain of an example",
    { options: "--domain sho.rt --without-dns --yes", line: /^sho\.rt is a domain of examples/ },
  ],
  [
    "a name that does not resolve",
    {
      before: "cp /etc/hosts /root/hosts; sed --in-place 's/ api\\.[^ ]*//' /etc/hosts",
      line: /^api\.go\.shorthop\.dev does not resolve/,
      // The file is bound into the machine, so it is written and not replaced.
      after: "cat /root/hosts > /etc/hosts",
    },
  ],
  [
    "a used port",
    {
      before:
        "systemd-run --quiet --unit=other systemd-socket-activate --listen=80 /bin/cat; sleep 1",
      line: /^Port 80 is used by systemd-socket-\S*: stop it/,
      after: "systemctl stop other",
    },
  ],
  [
    "a full disk",
    {
      before: "mount -t tmpfs -o size=1g tmpfs /var/lib",
      line: /^The disk of \/var\/lib has \d+ MiB left/,
      after: "umount /var/lib",
    },
  ],
  [
    "a PostgreSQL that has data of this name",
    {
      before: `apt-get install --yes postgresql > /dev/null
runuser --user postgres -- psql --quiet --command "create database shorthop"
runuser --user postgres -- psql --quiet --dbname shorthop --command "create table theirs as select 1 as id"`,
      line: /^PostgreSQL has a database shorthop with 1 tables that setup did not make/,
      after: `test "$(runuser --user postgres -- psql -Atd shorthop --command 'select * from theirs')" = 1
runuser --user postgres -- dropdb shorthop`,
    },
  ],
];

const HAS_NOTHING = `test ! -e /etc/shorthop/secrets.env && test ! -e /etc/shorthop/nats &&
grep --quiet change-me /etc/shorthop/api.env && ! systemctl is-active --quiet shorthop-api@1`;

async function expectRefusal(machine: Machine, input: WrongInput): Promise<void> {
  const { before = ":", options = OPTIONS, line, after = ":" } = input;
  // Only to try what is refused; the measured installation finds them unpacked.
  await machine.run(`cd ${FOLDER}; apt-get install --yes ./shorthop*.deb > /dev/null`);
  await machine.run(before);
  const child = machine.spawn(`shorthop setup ${options}`);
  const [output, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  assert.equal(code, 1);
  assert.match(output, line);
  assert.equal(output.trim().split("\n").length, 1, output);
  await machine.run(after);
  await machine.run(HAS_NOTHING);
}

/** Runs the documented commands; returns the key that setup has printed. */
async function install(machine: Machine): Promise<string> {
  // As fresh as before the wrong inputs.
  await machine.run(`apt-get purge --yes 'shorthop*' 'postgresql*' > /dev/null 2>&1
rm -rf /etc/postgresql /var/lib/postgresql /etc/shorthop`);
  const blocks = readBlocks(join(PROJECT_DIR, "docs/operations.md"));
  const script = ["install", "setup"].map((name) => blocks.get(name) ?? "").join("");
  const commands = script.trim().split("\n");
  assert.ok(commands.length <= COMMANDS_MAX, script);
  const start = performance.now();
  const output = await machine.run(
    `cd ${FOLDER}\n${script.replace(/^shorthop setup/m, `shorthop setup ${OPTIONS}`)}`,
  );
  console.log(output.replaceAll(/^/gm, "    "));
  const key = readKey(output);
  const calls = createCalls({ machine, key, host: DOMAIN });
  await calls.follow(await calls.createLink("first"));
  const seconds = ((performance.now() - start) / 1_000).toFixed(1);
  console.log(`    ${commands.length} commands, ${seconds} s from install to the first redirect`);
  await calls.waitUntilReady();
  return key;
}

function readKey(output: string): string {
  const key = /^ {4}Key {2,}(sk_\S+)$/m.exec(output)?.[1];
  assert.ok(key !== undefined, output);
  return key;
}

async function use(machine: Machine, key: string, step: Step): Promise<void> {
  const calls = createCalls({ machine, key, host: DOMAIN });
  await step("a second run changes nothing, and doctor finds nothing that fails", async () => {
    assert.match(await machine.run("shorthop setup --yes"), /^Nothing has changed\.$/m);
    await expectNoDifference(machine);
    await machine.run("shorthop doctor");
    console.log(`    ${await readMemory(machine)} MiB of memory for all services`);
  });
  await step("what is damaged is shown, repaired, and nothing else is changed", () =>
    damage(machine),
  );
  await step("secrets are rotated without a failed redirect", async () => {
    const link = await calls.createLink("rotated");
    const load = machine.spawnInNetwork([
      process.execPath,
      LOAD,
      `http://127.0.0.1/${link.alias}`,
      DOMAIN,
      String(PER_SECOND),
    ]);
    try {
      for (const name of ["NATS_REDIRECTOR", "UNLOCK_SECRET", "API_PASSWORD", "NATS_API"])
        await machine.run(`shorthop setup --yes --rotate ${name}`);
    } finally {
      load.kill("SIGTERM");
    }
    const counts: unknown = JSON.parse(await new Response(load.stdout).text());
    console.log(`    redirects: ${JSON.stringify(counts)}`);
    assert.ok(typeof counts === "object" && counts !== null);
    assert.deepEqual(Object.keys(counts), ["302"]);
    await calls.waitUntilReady();
    await expectNoDifference(machine);
  });
  await step("after a reboot everything runs, and a click is stored", async () => {
    await machine.reboot();
    await calls.waitUntilReady();
    const link = await calls.createLink("rebooted");
    await calls.follow(link);
    await calls.expectClicks(link, 1);
    await expectNoDifference(machine);
  });
  await step("no secret is in an argument, in the journal or readable for others", () =>
    expectNoSecret(machine),
  );
}

async function expectNoDifference(machine: Machine): Promise<void> {
  assert.match(await machine.run("shorthop setup --dry-run"), /^Nothing would change\.$/m);
}

async function readMemory(machine: Machine): Promise<string> {
  const units = [...SERVICES, "nats-server", "postgresql@*"].join(" ");
  const output = await machine.run(`systemctl show --property=MemoryCurrent --value ${units}`);
  const bytes = output.split("\n").reduce((sum, line) => sum + (Number(line) || 0), 0);
  return (bytes / 1024 ** 2).toFixed(0);
}

async function damage(machine: Machine): Promise<void> {
  await machine.run(`chmod 0644 /etc/shorthop/api.env
rm /etc/shorthop/nats/users.conf
sed --in-place 's/^SHORT_URL=.*/SHORT_URL=https:\\/\\/wrong.shorthop.dev/' /etc/shorthop/worker.env
systemctl disable --now --quiet shorthop-redirector@2
runuser --user postgres -- psql --quiet --dbname shorthop --command "revoke select on links from shorthop_api"`);
  const planned = await machine.run("shorthop setup --dry-run");
  for (const line of [
    "NATS: write /etc/shorthop/nats/users.conf",
    "processes: write /etc/shorthop/api.env",
    "    - SHORT_URL=https://wrong.shorthop.dev",
    "services: systemctl enable --quiet shorthop-redirector@2",
    "PostgreSQL grants: apply grants.sql",
  ])
    assert.ok(planned.includes(`${line}\n`), `${line}\n${planned}`);
  assert.ok(!planned.includes("redirector.env"), planned);
  await machine.run("shorthop setup --yes");
  await expectNoDifference(machine);
  await machine.run("systemctl is-active --quiet shorthop-redirector@2");
}

async function expectNoSecret(machine: Machine): Promise<void> {
  const found = await machine.run(`umask 077; cd /etc/shorthop
sed --quiet 's/^[A-Z_]*=\\([0-9a-f]\\{48\\}\\)$/\\1/p' secrets.env > /root/values
test "$(wc --lines < /root/values)" -ge 12
{ journalctl --no-pager --output=cat; cat /root/.bash_history /var/log/postgresql/* /proc/*/cmdline; } 2> /dev/null |
  grep --text --count --fixed-strings --file=/root/values || true
find / -xdev -type f -perm /007 ! -path '/proc/*' ! -path '/mnt/*' -newer /etc/shorthop/setup.env -size -1000k \\
  -exec grep --text --files-with-matches --fixed-strings --file=/root/values {} + || true
rm /root/values`);
  assert.equal(found.trim(), "0");
}

/** Kills one run after another, each after a few changes, until one comes to its end. */
async function killRuns(machine: Machine): Promise<void> {
  await machine.run(`cd ${FOLDER}; apt-get install --yes ./shorthop*.deb > /dev/null`);
  let killed = 0;
  while (await isKilled(machine)) {
    killed++;
    assert.ok(killed < KILLED_RUNS_MAX, "No run comes to its end.");
  }
  console.log(`    ${killed} runs were killed`);
  assert.ok(killed > 5);
  await expectNoDifference(machine);
  const created: { key: string } = JSON.parse(
    await machine.run(
      "shorthop keys create --name Test --json --scopes links:write,links:read --account " +
        "$(shorthop accounts list --json | grep --only-matching 'acct_[a-z0-9]*' | head --lines=1)",
    ),
  );
  const calls = createCalls({ machine, key: created.key, host: DOMAIN });
  await calls.waitUntilReady();
  await calls.follow(await calls.createLink("after-kills"));
  await machine.run(`curl --silent --fail --user-agent '${BROWSER}' http://127.0.0.1:9111/readyz`);
}

/** Runs setup and kills it after some changes; returns false when it ended before. */
async function isKilled(machine: Machine): Promise<boolean> {
  const child = machine.spawn(`echo $$ > /root/setup.pid; exec shorthop setup ${OPTIONS}`);
  const errors = new Response(child.stderr).text();
  let changes = 0;
  for await (const part of child.stdout) {
    changes += new TextDecoder().decode(part).match(/^[\w ]+: /gm)?.length ?? 0;
    if (changes < CHANGES_BEFORE_KILL) continue;
    // In its own namespace: this process is only a parent that waits for it.
    await machine.run("kill -KILL $(cat /root/setup.pid) || true");
    break;
  }
  const code = await child.exited;
  if (code !== 0 && changes < CHANGES_BEFORE_KILL) throw new Error(await errors);
  return code !== 0;
}
