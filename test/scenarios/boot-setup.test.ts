/**
 * Goal: `shorthop setup` prepares fresh machines. The operator's commands are those of
 * docs/operations.md, and counted. Wrong inputs change nothing, a second run changes nothing, damage
 * is repaired, secrets are rotated while visitors follow links, and runs that are killed are
 * finished by the next one.
 */
import { strict as assert } from "node:assert";
import { cpSync } from "node:fs";
import { join } from "node:path";

import { BROWSER, Calls } from "../boot/calls.ts";
import { FIRST_ADDRESS } from "../boot/clickhouse.ts";
import { buildRelease } from "../boot/install.ts";
import type { Machine } from "../boot/machine.ts";
import {
  bootTest,
  countRedirects,
  documented,
  DOMAIN,
  expectNoDifference,
  FOLDER,
  OPTIONS,
  readKey,
  runSteps,
  startThree,
  startWithRelease,
  type ThreeMachines,
} from "../boot/machines.ts";
import { eventually } from "../harness/eventually.ts";
import { dirForFile } from "../harness/for-file.ts";

/** Acceptance: to install, and to set up. */
const COMMANDS_MAX = 2;

/** Each of these runs is killed after so many of its changes, the last but one at the latest. */
const CHANGES_BEFORE_KILL = 3;
const KILLED_RUNS_MAX = 60;

const dir = dirForFile("shorthop-boot-");
const first = join(dir, "first");
let key = "";

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
      after: "mv /root/hosts /etc/hosts",
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
  await machine.run(before);
  const child = machine.spawn(`shorthop setup ${options}`);
  const [output, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  assert.equal(code, 1);
  assert.match(output, line);
  assert.equal(output.trim().split("\n").length, 1, output);
  await machine.run(after);
  await machine.run(HAS_NOTHING);
}

async function installPackages(machine: Machine): Promise<void> {
  await machine.run(`cd ${FOLDER}; apt-get install --yes ./shorthop*.deb > /dev/null`);
}

/** Runs the documented commands; returns the key that setup has printed. */
async function install(machine: Machine): Promise<string> {
  // As fresh as before the wrong inputs.
  await machine.run(`apt-get purge --yes 'shorthop*' 'postgresql*' > /dev/null 2>&1
rm -rf /etc/postgresql /var/lib/postgresql /etc/shorthop`);
  const script = ["install", "setup"].map(documented).join("");
  const commands = script.trim().split("\n");
  assert.ok(commands.length <= COMMANDS_MAX, script);
  const start = performance.now();
  const output = await machine.run(
    `cd ${FOLDER}\n${script.replace(/^shorthop setup/m, `shorthop setup ${OPTIONS}`)}`,
  );
  console.log(output.replaceAll(/^/gm, "    "));
  const key = readKey(output);
  const calls = new Calls({ machine, key, host: DOMAIN });
  await calls.follow(await calls.createLink("first"));
  const seconds = ((performance.now() - start) / 1_000).toFixed(1);
  console.log(`    ${commands.length} commands, ${seconds} s from install to the first redirect`);
  await calls.waitUntilReady();
  return key;
}

/** Every secret that setup can rotate while ClickHouse is another's. */
const ROTATED = [
  "NATS_REDIRECTOR",
  "NATS_WORKER",
  "NATS_API",
  "NATS_OPERATOR",
  "UNLOCK_SECRET",
  "LINKS_SIGNING_KEY",
  "API_PASSWORD",
  "WORKER_PASSWORD",
  "OWNER_PASSWORD",
  "DASHBOARD_SECRET",
];

const RECOVERY_MS = 30_000;

/** What people do with a machine that is set up. */
const USES: readonly [name: string, work: (machine: Machine, calls: Calls) => Promise<void>][] = [
  [
    "a second run changes nothing, and doctor finds nothing that fails",
    async (machine) => {
      assert.match(await machine.run("shorthop setup --yes"), /^Nothing has changed\.$/m);
      await expectNoDifference(machine);
      await machine.run("shorthop doctor");
    },
  ],
  ["what is damaged is shown, repaired, and nothing else is changed", damage],
  ["secrets are rotated without a failed redirect", rotateAll],
  ["after a reboot everything runs, and a click is stored", reboot],
  ["no secret is in an argument, in the journal or readable for others", expectNoSecret],
  ["doctor runs on its timer, and writes metrics", checkOnTimer],
  ["a backup passes its drill", backUp],
];

async function rotateAll(machine: Machine, calls: Calls): Promise<void> {
  const link = await calls.createLink("rotated");
  await eventually(() => calls.follow(link), RECOVERY_MS);
  const counts = await countRedirects(machine, link, async () => {
    for (const name of ROTATED) {
      const command = documented("rotate").replace("API_PASSWORD", name);
      await machine.run(`${command.trim()} --yes`);
    }
  });
  assert.deepEqual(Object.keys(counts), ["302"]);
  await calls.waitUntilReady();
  await expectNoDifference(machine);
}

async function reboot(machine: Machine, calls: Calls): Promise<void> {
  await machine.reboot();
  await calls.waitUntilReady();
  // Each process was ready; all at once may still be slow, and ask to try again.
  const link = await eventually(() => calls.createLink("rebooted"), RECOVERY_MS);
  await calls.follow(link);
  await calls.expectClicks(link, 1);
  await expectNoDifference(machine);
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
sed --quiet 's/^[A-Z_]*=\\([0-9a-f]\\{48,64\\}\\)$/\\1/p' secrets.env > /root/values
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
  await installPackages(machine);
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
  const calls = new Calls({ machine, key: created.key, host: DOMAIN });
  await calls.waitUntilReady();
  await calls.follow(await eventually(() => calls.createLink("after-kills"), RECOVERY_MS));
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

const BACKUPS = "/var/backups/shorthop";
const METRICS = "/var/lib/prometheus/node-exporter/shorthop.prom";

async function backUp(machine: Machine): Promise<void> {
  const drill = await machine.run(documented("backup"));
  assert.match(drill, /^links\t([1-9]\d*) of \1$/m, drill);
  assert.match(drill, /^clicks\t([1-9]\d*) of \1$/m, drill);
}

async function checkOnTimer(machine: Machine): Promise<void> {
  await machine.run(`mkdir -p ${METRICS.replace(/\/[^/]*$/, "")}
systemctl enable --quiet --now shorthop-doctor.timer
systemctl start shorthop-doctor`);
  const metrics = await machine.run(`cat ${METRICS}`);
  assert.match(metrics, /^shorthop_doctor_\w+(?:\{[^}]*\})? \d/m, metrics);
  assert.doesNotMatch(
    metrics,
    /^shorthop_doctor_checks\{[^}]*status="failed"[^}]*\} [1-9]/m,
    metrics,
  );
  await machine.run("systemctl is-active --quiet shorthop-doctor.timer");
}

/** Brings the installation of the first machine, which has ended, to a fresh one by its backup. */
async function restore(machine: Machine): Promise<void> {
  cpSync(join(first, BACKUPS), join(dir, "restored", BACKUPS), { recursive: true });
  const script = ["install", "setup-restore"].map((name) => documented(name)).join("");
  const commands = script.trim().split("\n");
  assert.ok(commands.length <= COMMANDS_MAX, script);
  const output = await machine.run(
    `cd ${FOLDER}\n${script.replace(/^shorthop setup/m, "shorthop setup --yes")}`,
  );
  console.log(output.replaceAll(/^(?=.)/gm, "    "));
  assert.match(output, /^ {4}links\t([1-9]\d*) of \1$/m);
  assert.match(output, /^ {4}clicks\t([1-9]\d*) of \1$/m);
}

async function useRestored(machine: Machine): Promise<void> {
  const calls = new Calls({ machine, key, host: DOMAIN });
  await calls.waitUntilReady();
  await eventually(async () => {
    const { status } = await calls.get("http://127.0.0.1/rebooted");
    assert.equal(status, 302);
  }, RECOVERY_MS);
  await calls.follow(await calls.createLink("after-restore"));
  await expectNoDifference(machine);
}

/** Acceptance: of three machines, and of a host of redirectors. */
const COMMANDS_OF_THREE_MAX = 6;
const COMMANDS_OF_REDIRECTORS_MAX = 2;

const INSTALL = "apt-get install --yes ./shorthop*.deb";
const INSTALL_REDIRECTOR = "apt-get install --yes ./shorthop_*.deb ./shorthop-redirector_*.deb";
const INVITE_ANOTHER = "shorthop setup --yes --invite redirector";
const JOIN = documented("join").trim();

/** Runs the commands of an operator, and counts them; returns the key. */
async function setUpThree([stores, processes, redirector]: ThreeMachines): Promise<string> {
  let commands = 0;
  const command = (machine: Machine, text: string, input = ""): Promise<string> => {
    commands++;
    return machine.run(`cd ${FOLDER}\n${input === "" ? "" : `echo ${input} | `}${text}`);
  };
  await command(stores, INSTALL);
  commands++;
  const { output, tokens } = await invite(stores, `${documented("invite").trim()} ${OPTIONS}`);
  const [forProcesses = "", forRedirector = ""] = tokens;
  await command(processes, INSTALL);
  await command(processes, JOIN, forProcesses);
  const before = commands;
  const start = performance.now();
  await command(redirector, INSTALL_REDIRECTOR);
  console.log(await command(redirector, JOIN, forRedirector));
  const seconds = ((performance.now() - start) / 1_000).toFixed(1);
  console.log(
    `    ${commands} commands for three machines; of them for redirectors ${commands - before}, ${seconds} s`,
  );
  assert.ok(commands <= COMMANDS_OF_THREE_MAX);
  assert.ok(commands - before <= COMMANDS_OF_REDIRECTORS_MAX);
  return readKey(output);
}

async function followEverywhere(machines: readonly Machine[], key: string): Promise<void> {
  const callsOn = (machine: Machine) => new Calls({ machine, key, host: DOMAIN });
  const [stores, processes] = machines.map(callsOn);
  if (stores === undefined || processes === undefined) throw new Error("There are no machines.");
  await stores.waitUntilReady();
  await processes.waitUntilReady();
  for (const maker of [stores, processes]) {
    const link = await maker.createLink(maker === stores ? "from-first" : "from-second");
    for (const machine of machines)
      await eventually(() => callsOn(machine).follow(link), RECOVERY_MS);
    await stores.expectClicks(link, machines.length);
  }
  for (const machine of machines) await expectNoDifference(machine);
}

async function expectLeast(stores: Machine, redirector: Machine): Promise<void> {
  const names = await redirector.run("grep --only-matching '^[A-Z_]*' /etc/shorthop/secrets.env");
  assert.deepEqual(names.trim().split("\n"), [
    "NATS_REDIRECTOR",
    "UNLOCK_SECRET",
    "LINKS_PUBLIC_KEYS",
  ]);
  const [token = ""] = (await invite(stores, INVITE_ANOTHER)).tokens;
  await redirector.run(`echo ${token} | ${JOIN}`);
  await redirector.run(`! echo ${token} | ${JOIN} 2> /root/again
grep 'no open invitation' /root/again`);
}

async function rotate(stores: Machine, redirector: Machine, key: string): Promise<void> {
  const callsOn = (machine: Machine) => new Calls({ machine, key, host: DOMAIN });
  const link = await callsOn(stores).createLink("before-rotation");
  await eventually(() => callsOn(redirector).follow(link), RECOVERY_MS);
  await stores.run("shorthop setup --yes --rotate NATS_REDIRECTOR");
  await callsOn(redirector).follow(link);
  const [token = ""] = (await invite(stores, INVITE_ANOTHER)).tokens;
  await redirector.run(`echo ${token} | ${JOIN}`);
  const later = await callsOn(stores).createLink("after-rotation");
  await eventually(() => callsOn(redirector).follow(later), RECOVERY_MS);
  await callsOn(stores).expectClicks(link, 2);
}

type Invited = { output: string; tokens: string[] };

/** Runs a command that invites, which goes on after this returns; returns its tokens. */
async function invite(stores: Machine, command: string): Promise<Invited> {
  const [, roles = ""] = command.split("--invite ");
  const count = roles.split(" ").filter((word) => /^(processes|redirector)$/.test(word)).length;
  const child = stores.spawn(command);
  let output = "";
  for await (const part of child.stdout) {
    output += new TextDecoder().decode(part);
    const tokens = [...output.matchAll(/^ {4}([\w-]{64}) {2}\w+$/gm)].map(
      ([, token = ""]) => token,
    );
    if (tokens.length === count) return { output, tokens };
  }
  throw new Error(`No tokens: ${output} ${await new Response(child.stderr).text()}`);
}

let isBuilt = false;

/** Builds the release for the first machine that is started. */
function buildOnce(): void {
  if (!isBuilt) buildRelease(1);
  isBuilt = true;
}

const bootOne = async (resources: AsyncDisposableStack, root: string) => {
  buildOnce();
  return [await startWithRelease(resources, root)] as const;
};

bootTest("`shorthop setup` makes a machine, and another one of its backup", async () => {
  await runSteps(
    (resources) => bootOne(resources, first),
    (step) => {
      step("the packages are installed", ([machine]) => installPackages(machine));
      for (const [name, input] of WRONG_INPUTS)
        step(`${name} is one line, and nothing is changed`, ([machine]) =>
          expectRefusal(machine, input),
        );
      step("the documented commands lead to a redirect", async ([machine]) => {
        key = await install(machine);
      });
      for (const [name, work] of USES)
        step(name, ([machine]) => work(machine, new Calls({ machine, key, host: DOMAIN })));
    },
  );
  await runSteps(
    (resources) => bootOne(resources, join(dir, "restored")),
    (step) => {
      step("is restored by two commands, with the same counts", ([machine]) => restore(machine));
      step("has the links, keys and clicks of the first", ([machine]) => useRestored(machine));
    },
  );
});

bootTest("runs of `shorthop setup` that are killed are finished by the next one", () =>
  runSteps(
    (resources) => bootOne(resources, join(dir, "killed")),
    (step) => step("is finished by the next one", ([machine]) => killRuns(machine)),
  ),
);

const ADDRESSES = [FIRST_ADDRESS, "10.0.0.12", "10.0.0.14"] as const;

bootTest("of three machines the first invites the others", () => {
  buildOnce();
  let threesKey = "";
  return runSteps(
    (resources) => startThree(resources, dir, ADDRESSES),
    (step) => {
      step("are set up by six commands", async (machines) => {
        threesKey = await setUpThree(machines);
      });
      step("follow a link that another has made, and its clicks are counted", (machines) =>
        followEverywhere(machines, threesKey),
      );
      step("take an invitation once, which gives only what the role needs", ([stores, , third]) =>
        expectLeast(stores, third),
      );
      step("go on after a rotation, and another invitation brings the rest", ([stores, , third]) =>
        rotate(stores, third, threesKey),
      );
    },
  );
});
