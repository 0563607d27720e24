/** Goal: whatever would make setup fail is one clear line, before anything is changed. */
import { beforeEach, expect, test } from "bun:test";
import { cpSync, mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

import { run } from "../../../deploy/packages/run.ts";
import { dirForEach } from "../../../test/harness/for-file.ts";
import { Host, type Output } from "../host.ts";
import { describeRoom, findProblems, isUsed } from "./problems.ts";
import { parseTimestamp, servicesStep } from "./services.ts";
import { completeSettings, type Values } from "./settings.ts";

const DEPLOY = join(import.meta.dir, "../../../deploy");
const NOTHING: Output = { code: 1, stdout: "", stderr: "" };

/** A host with files below a root, whose programs answer what `run` returns. */
class FakeHost extends Host {
  readonly #answer: (command: readonly string[]) => Output;

  constructor(answer: (command: readonly string[]) => Output = () => succeeded()) {
    super(process.env, root());
    this.#answer = answer;
  }
  override run(command: readonly string[]): Promise<Output> {
    return Promise.resolve(this.#answer(command));
  }
  override psql(): Promise<Output> {
    return Promise.resolve(NOTHING);
  }
}

const succeeded = (stdout = ""): Output => ({ code: 0, stdout, stderr: "" });

const root = dirForEach("shorthop-setup-");
let host: Host;

beforeEach(() => {
  for (const path of ["etc/shorthop", "var/lib"])
    mkdirSync(join(root(), path), { recursive: true });
  for (const name of ["redirector", "api", "worker", "migrate"])
    cpSync(join(DEPLOY, `systemd/${name}.env`), join(root(), `etc/shorthop/${name}.env`));
  // Ports of this host are those of whatever runs here: every unit counts as ours.
  host = new FakeHost();
});

const find = async (values: Values, dns = false): Promise<string[]> =>
  findProblems(await completeSettings(values), host, dns);

test("a fresh host with a domain has no problems", async () => {
  expect(await find({ DOMAIN: "go.shorthop.dev" })).toEqual([]);
});

test("domains of examples are refused", async () => {
  for (const DOMAIN of [
    "sho.rt",
    "go.sho.rt",
    "example.com",
    "a.b.example.org",
    "go.test",
    "x.invalid",
  ])
    expect([DOMAIN, ...(await find({ DOMAIN }))]).toEqual([
      DOMAIN,
      `${DOMAIN} is a domain of examples: give your own with --domain.`,
    ]);
  expect(await find({ DOMAIN: "myexample.com" })).toEqual([]);
});

test("each name that does not resolve has a line", async () => {
  const lines = await find({ DOMAIN: "nowhere.invalid" }, true);
  expect(lines.filter((line) => line.includes("does not resolve"))).toEqual(
    ["nowhere.invalid", "api.nowhere.invalid", "app.nowhere.invalid"].map(
      (host) =>
        `${host} does not resolve: add it to your DNS, or give --without-dns to do that later.`,
    ),
  );
});

test("an address of another host, and a loopback address of the stores for a host without them", async () => {
  const DOMAIN = "go.shorthop.dev";
  expect(await find({ DOMAIN, STORES: "192.0.2.1" })).toEqual([
    "192.0.2.1 is no address of this host: give one that other hosts reach with --stores.",
  ]);
  const [line] = await find({ DOMAIN, ROLE: "redirector" });
  expect(line).toBe("The stores are on another host: give its address with --stores.");
});

test("a package that is missing, and a host that was configured by hand", async () => {
  const DOMAIN = "go.shorthop.dev";
  rmSync(join(root(), "etc/shorthop/worker.env"));
  writeFileSync(join(root(), "etc/shorthop/api.env"), "SHORT_URL=https://go.shorthop.dev\n");
  expect(await find({ DOMAIN })).toEqual([
    "/etc/shorthop/api.env was configured without setup, which therefore leaves this host alone (docs/operations.md).",
    "/etc/shorthop/worker.env is missing: apt-get install ./shorthop*.deb, in the folder of a release.",
  ]);
  // Nothing listens there; the files of other processes are no matter of this host.
  expect(await find({ DOMAIN, ROLE: "redirector", STORES: "127.1.2.3" })).toEqual([
    "The stores are on another host: give its address with --stores.",
    "NATS at 127.1.2.3:4222 cannot be reached: start it, or let this host through its firewall.",
  ]);
});

test("a PostgreSQL that is too old, or on another port", async () => {
  const main = join(root(), "etc/postgresql/14/main");
  mkdirSync(main, { recursive: true });
  writeFileSync(join(main, "postgresql.conf"), "port = 5432\n");
  const DOMAIN = "go.shorthop.dev";
  expect(await find({ DOMAIN })).toEqual([
    "PostgreSQL 14 is installed: Shorthop needs 15 or later.",
  ]);
  cpSync(main, join(root(), "etc/postgresql/17/main"), { recursive: true });
  expect(await find({ DOMAIN })).toEqual([]);
  writeFileSync(join(root(), "etc/postgresql/17/main/postgresql.conf"), "port = 5433\t# changed\n");
  expect(await find({ DOMAIN })).toEqual([
    "PostgreSQL listens on port 5433: set port = 5432 in /etc/postgresql/17/main/postgresql.conf, and restart it.",
  ]);
});

test("a port that another program uses, which is named", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  writeFileSync(
    join(root(), "etc/shorthop/redirector.env"),
    `REDIRECTOR_PORT=${port}\nA=change-me\n`,
  );
  host = new FakeHost(([program = "", , , unit]) =>
    program === "ss"
      ? succeeded('LISTEN 0 1 *:* users:(("nginx",pid=7,fd=6))')
      : unit === "shorthop-redirector@1"
        ? NOTHING
        : succeeded(),
  );
  const used = await find({ DOMAIN: "go.shorthop.dev" });
  await new Promise((resolve) => server.close(resolve));
  expect(used).toEqual([
    `Port ${port} is used by nginx: stop it, as shorthop-redirector@1 needs the port.`,
  ]);
  expect(await isUsed(port)).toBe(false);
});

test("a disk without room", () => {
  expect(describeRoom(5 * 1024 ** 3)).toBeUndefined();
  expect(describeRoom(700 * 1024 ** 2)).toContain("has 700 MiB left: make room for at least 5 GiB");
});

test("certificate files that do not exist, are for another domain, or do not belong together", async () => {
  const TLS = { TLS: "files", TLS_CERT: "/root/cert-of-key.pem", TLS_KEY: "/root/key.pem" };
  expect(await find({ DOMAIN: "go.shorthop.dev", ...TLS })).toEqual([
    "There is no /root/cert-of-key.pem: name the files with --tls-cert and --tls-key.",
  ]);
  mkdirSync(join(root(), "root"));
  for (const name of ["key", "other"]) {
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", "1"];
    const names = ["-subj", "/CN=go.shorthop.dev", "-addext", "subjectAltName=DNS:go.shorthop.dev"];
    const files = ["-keyout", `${name}.pem`, "-out", `cert-of-${name}.pem`];
    run(["openssl", "req", "-x509", ...key, ...names, ...files], join(root(), "root"));
  }
  expect(await find({ DOMAIN: "go.shorthop.dev", ...TLS })).toEqual([]);
  expect(await find({ DOMAIN: "go.shorthop.net", ...TLS })).toEqual([
    "/root/cert-of-key.pem is not for go.shorthop.net.",
  ]);
  expect(await find({ DOMAIN: "go.shorthop.dev", ...TLS, TLS_KEY: "/root/other.pem" })).toEqual([
    "/root/other.pem is not the key of /root/cert-of-key.pem.",
  ]);
});

test("a unit is enabled, started, and restarted when a file is younger than its process", async () => {
  const path = "/etc/shorthop/worker.env";
  const inspectWith = async (state: string) => {
    const step = servicesStep("services", new FakeHost(() => succeeded(state)), () => [
      { unit: "shorthop-worker", reads: [path] },
    ]);
    return (await step.inspect()).map(({ title }) => title);
  };
  const started = "ExecMainStartTimestamp=Thu 2026-11-26 11:09:17.123456 UTC";
  expect(parseTimestamp("Thu 2026-11-26 11:09:17.123456 UTC")).toBe(
    Date.UTC(2026, 10, 26, 11, 9, 17, 123),
  );
  expect(await inspectWith("UnitFileState=disabled\nActiveState=inactive")).toEqual([
    "systemctl enable --quiet shorthop-worker",
    "systemctl start shorthop-worker",
  ]);
  const touch = (second: number) => {
    const time = new Date(Date.UTC(2026, 10, 26, 11, 9, second));
    utimesSync(join(root(), path), time, time);
  };
  const running = `UnitFileState=enabled\nActiveState=active\n${started}`;
  touch(17);
  expect(await inspectWith(running)).toEqual([]);
  touch(18);
  expect(await inspectWith(running)).toEqual(["systemctl restart shorthop-worker"]);
  touch(16);
  expect(await inspectWith(`${running}\nNeedDaemonReload=yes`)).toEqual([
    "systemctl restart shorthop-worker",
  ]);
});

test("systemd reads its files again only when a unit's are others", async () => {
  const running = "UnitFileState=enabled\nActiveState=inactive";
  const dropIn = "/etc/systemd/system/nats-server.service.d/shorthop.conf";
  mkdirSync(join(root(), dropIn, ".."), { recursive: true });
  writeFileSync(join(root(), dropIn), "");
  const known = `${running}\nDropInPaths=/etc/other.conf ${dropIn}`;
  for (const [state, expected] of [
    [`${known}\nNeedDaemonReload=no`, ["systemctl start nats-server"]],
    // Debian 12 does not notice one in a new folder.
    [
      `${running}\nDropInPaths=\nNeedDaemonReload=no`,
      ["systemctl daemon-reload", "systemctl start nats-server"],
    ],
    [`${known}\nNeedDaemonReload=yes`, ["systemctl daemon-reload", "systemctl start nats-server"]],
  ] satisfies [string, string[]][]) {
    const commands: string[] = [];
    const inState = new FakeHost((command) => {
      if (!command.includes("show")) commands.push(command.join(" "));
      return succeeded(state);
    });
    const step = servicesStep("stores", inState, () => [{ unit: "nats-server", reads: [dropIn] }]);
    for (const { apply } of await step.inspect()) await apply();
    expect(commands).toEqual(expected);
  }
});
