/**
 * Goal: setup makes the roles, their passwords and their rights, finds every difference, and does
 * not touch data. Method: a real PostgreSQL.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { postgresPool, requirePrivileges, usePostgres } from "../../api/postgres.ts";
import { Host } from "../../cli/machines/host.ts";
import {
  privilegesStep,
  rolesStep,
  verifierOf,
  verifies,
} from "../../cli/machines/setup/postgres.ts";
import { findProblems } from "../../cli/machines/setup/problems.ts";
import { completeSecrets, rotate, type Secrets } from "../../cli/machines/setup/secrets.ts";
import { completeSettings } from "../../cli/machines/setup/settings.ts";
import { runSteps, type Step } from "../../cli/machines/setup/step.ts";
import { type Created, firstAccountStep } from "../../cli/machines/setup/steps.ts";
import { startPostgres, type TestPostgres } from "../harness/postgres.ts";

const psql = Bun.which("psql");
if (psql === null) console.warn("\n!!! psql is not installed: setup of PostgreSQL is NOT TESTED\n");

const DEPLOY = join(import.meta.dir, "../../deploy");

test("a verifier is that of RFC 7677's password, and only of it", () => {
  const salt = Buffer.from("W22ZaJ0SNY7soEsUEjb6gQ==", "base64");
  const verifier = verifierOf("pencil", salt, 4_096);
  expect(verifier).toBe(
    "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
  );
  expect(verifies(verifier, "pencil")).toBe(true);
  expect(verifies(verifier, "pencils")).toBe(false);
  expect(verifies("md5abc", "pencil")).toBe(false);
});

describe.skipIf(psql === null)("on a real PostgreSQL", () => {
  let postgres: TestPostgres;
  let root: string;
  let host: Host;
  let secrets: Secrets;

  beforeAll(async () => {
    postgres = await startPostgres({ ownServer: true });
    root = mkdtempSync(join(tmpdir(), "shorthop-setup-"));
    cpSync(join(DEPLOY, "postgres"), join(root, "usr/share/shorthop/postgres"), {
      recursive: true,
    });
    host = new Host(process.env, root, (database) => {
      const url = new URL(postgres.url);
      url.pathname = `/${database}`;
      return [psql ?? "", url.href];
    });
    const { password } = new URL(postgres.url);
    // The test's superuser has the name of our owner.
    secrets = completeSecrets("stores", { OWNER_PASSWORD: decodeURIComponent(password) });
  });
  afterAll(async () => {
    await postgres[Symbol.asyncDispose]();
    rmSync(root, { recursive: true });
  });

  const steps = (): Step[] => [
    rolesStep(secrets, host),
    privilegesStep("rights", "privileges.sql", host),
    privilegesStep("grants", "grants.sql", host),
  ];

  async function run(dryRun = false) {
    const lines: string[] = [];
    const count = await runSteps(steps(), { dryRun, print: (line) => lines.push(line) });
    return { count, printed: lines.join("\n") };
  }

  const asApi = (): string => {
    const url = new URL(postgres.url);
    url.username = "shorthop_api";
    url.password = secrets["API_PASSWORD"] ?? "";
    return url.href;
  };

  test("roles and rights are made, the API may work with them, and a second run changes nothing", async () => {
    await postgres.sql`drop owned by shorthop_api, shorthop_worker`.catch(() => undefined);
    await postgres.sql`drop role if exists shorthop_api, shorthop_worker`;
    const planned = await run(true);
    expect(planned.printed).toContain("PostgreSQL roles: create role shorthop_api login");
    expect(planned.printed).not.toContain("SCRAM");
    const [before] = await postgres.sql<{ n: number }[]>`
      select count(*)::int as n from pg_roles where rolname = 'shorthop_api'`;
    expect(before?.n).toBe(0);
    expect((await run()).count).toBe(4);
    await usePostgres(asApi(), requirePrivileges);
    expect(await run()).toEqual({ count: 0, printed: "" });
  });

  test("a missing or additional right, a role without login and another password are found and repaired", async () => {
    await run();
    await postgres.sql`revoke delete on links from shorthop_api`;
    await postgres.sql`grant insert on plans to shorthop_api`;
    await postgres.sql`grant usage on schema public to public`;
    await postgres.sql`alter role shorthop_worker nologin`;
    await postgres.sql`alter role shorthop_api password 'another'`;
    const { printed } = await run(true);
    for (const line of [
      "PostgreSQL roles: alter role shorthop_worker login",
      "PostgreSQL roles: alter role shorthop_api password …",
      "+ relation links: shorthop=",
      "- relation plans: shorthop=",
      "- schema public: =U",
    ])
      expect(printed).toContain(line);
    expect((await run()).count).toBe(4);
    await usePostgres(asApi(), requirePrivileges);
    expect((await run()).count).toBe(0);
  });

  test("a rotated password is the only change, and the new one works", async () => {
    await run();
    const before = asApi();
    secrets = rotate("stores", secrets, "API_PASSWORD");
    expect((await run()).printed).toBe("PostgreSQL roles: alter role shorthop_api password …");
    await usePostgres(asApi(), requirePrivileges);
    const old = postgresPool(before, 1);
    expect(Promise.resolve(old.unsafe("select 1"))).rejects.toThrow(
      "password authentication failed",
    );
    await old.end();
  });

  test("the first account is made once, and its missing parts by the next run", async () => {
    const settings = await completeSettings({ DOMAIN: "go.shorthop.dev" });
    const created: Created = {};
    const step = firstAccountStep(
      settings,
      () => Promise.resolve(true),
      (work) => work(postgres.sql),
      created,
    );
    const make = () => runSteps([step], { dryRun: false, print: () => undefined });
    expect(await make()).toBe(1);
    expect(created.key).toStartWith("sk_");
    const { account } = created;
    expect(account).toStartWith("acct_");
    created.account = "";
    expect(await make()).toBe(0);
    expect(created.account).toBe(account ?? "");
    await postgres.sql`delete from api_keys`;
    await postgres.sql`delete from users`;
    const [first] = [created.key];
    expect(await make()).toBe(2);
    expect(created.key).not.toBe(first);
    await postgres.addAccount();
    await postgres.sql`delete from api_keys`;
    expect(await make()).toBe(0);
  });

  test("a database that setup did not make is left alone", async () => {
    for (const path of ["etc/shorthop", "var/lib"])
      mkdirSync(join(root, path), { recursive: true });
    for (const name of ["redirector", "api", "worker", "migrate"])
      cpSync(join(DEPLOY, `systemd/${name}.env`), join(root, `etc/shorthop/${name}.env`));
    const settings = await completeSettings({ DOMAIN: "go.shorthop.dev" });
    const find = async () =>
      (await findProblems(settings, host, false)).filter((line) => line.includes("database"));
    expect(await find()).toEqual([
      expect.stringMatching(
        /^PostgreSQL has a database shorthop with \d+ tables that setup did not make/,
      ),
    ]);
    writeFileSync(join(root, "etc/shorthop/secrets.env"), "");
    expect(await find()).toEqual([]);
  });
});
