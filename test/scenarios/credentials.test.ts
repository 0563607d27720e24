/**
 * Goal: every user that is shipped may do in its store what its process needs, and nothing else.
 * docs/credentials.md says what that is; each of its cells is tried with the shipped files, those
 * that are allowed as well as those that are refused.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

import { readBlock } from "../boot/install.ts";
import {
  CLICKHOUSE_RIGHTS,
  CLICKHOUSE_USERS,
  prepareClickHouse,
  tryClickHouse,
} from "../credentials/clickhouse.ts";
import {
  DIRECTIONS,
  FAR,
  LAST,
  NATS_RIGHTS,
  NATS_USERS,
  REGION_RIGHTS,
  tryCrossing,
  tryNats,
} from "../credentials/nats.ts";
import { POSTGRES_USERS, type Roles, startRoles } from "../credentials/postgres.ts";
import { findDeviations } from "../credentials/rights.ts";
import { NatsCluster } from "../harness/nats-cluster.ts";
import { ownNatsServer } from "../harness/nats.ts";
import { PROJECT_DIR } from "../harness/stack.ts";
import { createTemporaryDir } from "../harness/templates.ts";

setDefaultTimeout(300_000);

const dir = createTemporaryDir("shorthop-credentials-");
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe("in NATS", () => {
  let hub: NatsCluster;
  let far: NatsCluster;
  beforeAll(async () => {
    const program = await ownNatsServer();
    const options = { count: 1, tls: false };
    const region = { domain: "hub", addresses: [] } as const;
    hub = await NatsCluster.start(program, { ...options, region });
    const addresses = hub.servers.map(({ leafPort }) => `127.0.0.1:${leafPort}`);
    const ca = hub.env.NODE_EXTRA_CA_CERTS;
    far = await NatsCluster.start(program, {
      ...options,
      region: { domain: FAR, hub: addresses, ca },
    });
  });
  afterAll(async () => {
    await far[Symbol.asyncDispose]();
    await hub[Symbol.asyncDispose]();
  });

  const urlOf = (user: (typeof NATS_USERS)[number]): string =>
    user === "far redirector" ? far.url("redirector") : hub.url(user);

  test.each(NATS_USERS)("the %s may do what the page says, and no more", async (user) => {
    const refused = await tryNats(urlOf(user), NATS_RIGHTS);
    expect(findDeviations(user, NATS_RIGHTS, refused)).toEqual([]);
  });

  test("the operator may do everything, in each region", async () => {
    for (const nats of [hub, far])
      expect(await tryNats(nats.url("operator"), NATS_RIGHTS)).toEqual(new Set());
  });

  test("users log in only where they belong", async () => {
    expect(tryNats(far.url("worker"), [])).rejects.toThrow(/Authorization/);
    expect(tryNats(far.url("api"), [])).rejects.toThrow(/Authorization/);
    const region = hub.url("operator").replace("operator", "region");
    expect(tryNats(region, [])).rejects.toThrow(/Authorization/);
    const stranger = hub.url("operator").replace(/operator:[^@]*/, "operator:guess");
    expect(tryNats(stranger, [])).rejects.toThrow(/Authorization/);
  });

  test("only what the page says crosses between a far region and the hub", async () => {
    const there = await far.connect("operator");
    const here = await hub.connect("operator");
    for (const direction of DIRECTIONS) {
      const [from, to] = direction === "to the hub" ? [there, here] : [here, there];
      const refused = await tryCrossing(from, to, LAST[direction]);
      expect(findDeviations(direction, REGION_RIGHTS, refused)).toEqual([]);
    }
    await there.close();
    await here.close();
  });
});

const psql = Bun.which("psql");
if (psql === null) console.warn("\n!!! psql is not installed: roles and grants are NOT TESTED\n");

describe.skipIf(psql === null)("in PostgreSQL", () => {
  let roles: Roles;
  beforeAll(async () => {
    roles = await startRoles(psql ?? "");
  });
  afterAll(() => roles[Symbol.asyncDispose]());

  test.each(POSTGRES_USERS)("the role %s may do what the page says, and no more", async (user) => {
    const refused = await roles.attempt(user);
    expect(findDeviations(user, roles.rights, refused)).toEqual([]);
  });

  test("the page says of every function that not everybody may call who may", () => {
    const tried = roles.rights.flatMap((right) => right.tried);
    expect(roles.functions.length).toBeGreaterThan(0);
    expect(
      roles.functions.filter((name) => !tried.some((text) => text.includes(`${name}(`))),
    ).toEqual([]);
  });
});

describe("in ClickHouse", () => {
  test.each(CLICKHOUSE_USERS)(
    "the user %s may do what the page says, and no more",
    async (user) => {
      const own = join(dir, "clickhouse");
      await prepareClickHouse(own);
      const refused = await tryClickHouse(own, user, CLICKHOUSE_RIGHTS);
      expect(findDeviations(user, CLICKHOUSE_RIGHTS, refused)).toEqual([]);
    },
  );

  test("the grants of api alone refuse what its profile also does, but for its limits", async () => {
    const own = join(dir, "clickhouse");
    await prepareClickHouse(own);
    const rows = CLICKHOUSE_RIGHTS.filter(({ tried }) =>
      tried.every((statement) => !statement.includes(" SETTINGS readonly ")),
    );
    expect(rows).toHaveLength(CLICKHOUSE_RIGHTS.length - 1);
    const refused = await tryClickHouse(own, "api", rows, "not readonly");
    expect(findDeviations("api", rows, refused)).toEqual([]);
  });
});

/** Permissions of a file, in octal. */
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

/** Runs a named block in a folder that stands for the root of the file system. */
function runBlock(root: string, file: string, name: string): void {
  const here = readBlock(name, file)
    .replaceAll("/usr/share/shorthop", join(PROJECT_DIR, "deploy"))
    .replaceAll(/(?<![\w.])\/(root|etc)\//g, `${root}/$1/`)
    // Services and their groups are not installed on this machine.
    .replaceAll(/^systemctl .*$/gm, "")
    .replaceAll("--group=nats ", "");
  const { exitCode, stderr } = Bun.spawnSync(["bash", "-euc", `umask 022\n${here}`]);
  expect([name, exitCode, stderr.toString()]).toEqual([name, 0, expect.any(String)]);
}

describe("of the files that the documents' commands make", () => {
  test("nobody but root reads secrets, and NATS its own", () => {
    const root = join(dir, "one");
    for (const folder of ["root", "etc/systemd/system"])
      mkdirSync(join(root, folder), { recursive: true });
    runBlock(root, "installing-by-hand.md", "secrets");
    expect(modeOf(join(root, "root/shorthop.secrets"))).toBe("600");
    runBlock(root, "installing-by-hand.md", "nats");
    const nats = join(root, "etc/shorthop/nats");
    expect(modeOf(nats)).toBe("750");
    const files = readdirSync(nats);
    expect(files).toContain("passwords.conf");
    expect(files.map((name) => modeOf(join(nats, name)))).toEqual(files.map(() => "640"));
  });

  test("nobody but root reads the folder that is copied to three machines", () => {
    const root = join(dir, "three");
    mkdirSync(join(root, "root"), { recursive: true });
    runBlock(root, "three-machines.md", "secrets");
    expect(modeOf(join(root, "root/shorthop"))).toBe("700");
  });
});
