/**
 * Goal: setup writes what is missing or differs, with the right mode, and nothing else; a dry run
 * shows it without secrets; a run that was killed is finished by the next one. Method: real files
 * below a temporary root, with the files that the packages install.
 */
import { beforeEach, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import { oidcVariables } from "../../../api/oidc/settings.ts";
import { loadConfig } from "../../../shared/env.ts";
import { publicKeyOf } from "../../../shared/links-log/signature.ts";
import { dirForEach } from "../../../test/harness/for-file.ts";
import { parseEnvironment } from "../../installation.ts";
import { Host } from "../host.ts";
import { environmentFiles, setVariables } from "./environment.ts";
import { filesStep } from "./files.ts";
import { completeSecrets, Mask, rotate, type Secrets, secretsFor } from "./secrets.ts";
import { clickhouseFiles, natsFiles } from "./server-files.ts";
import { completeSettings, type Settings } from "./settings.ts";
import { runSteps, type Step } from "./step.ts";
import { Setup } from "./steps.ts";

const DEPLOY = join(import.meta.dir, "../../../deploy");

const root = dirForEach("shorthop-setup-");
let host: Host;
let settings: Settings;
let secrets: Secrets;

beforeEach(async () => {
  host = new Host(process.env, root());
  settings = await completeSettings({ DOMAIN: "go.shorthop.dev" });
  secrets = completeSecrets("stores", {});
  installPackages();
});

/** What the packages install, and the group of the package nats-server. */
function installPackages(): void {
  const configuration = join(root(), "etc/shorthop");
  mkdirSync(configuration, { recursive: true });
  for (const name of ["redirector", "api", "worker", "migrate"])
    cpSync(join(DEPLOY, `systemd/${name}.env`), join(configuration, `${name}.env`));
  for (const name of ["nats", "clickhouse", "postgres"])
    cpSync(join(DEPLOY, name), join(root(), "usr/share/shorthop", name), { recursive: true });
  writeFileSync(join(root(), "etc/group"), `root:x:0:\nnats:x:${process.getgid?.()}:\n`);
}

function stepsWith(secret = secrets): Step[] {
  const mask = new Mask(secret);
  return [
    filesStep("NATS", host, mask, () => natsFiles(settings, secret, host)),
    filesStep("ClickHouse", host, mask, () => clickhouseFiles(settings, secret, host)),
    filesStep("processes", host, mask, () => environmentFiles(settings, secret, host)),
  ];
}

/** Runs the steps; returns the number of changes and what was printed. */
async function run(steps = stepsWith(), dryRun = false) {
  const lines: string[] = [];
  const count = await runSteps(steps, { dryRun, print: (line) => lines.push(line) });
  return { count, printed: lines.join("\n") };
}

/** Every file below a folder, with its mode. */
const snapshot = (folder = "etc"): Record<string, string> =>
  Object.fromEntries(
    readdirSync(join(root(), folder), { recursive: true, encoding: "utf8" })
      .toSorted()
      .map((name) => {
        const path = join(root(), folder, name);
        const stats = statSync(path);
        return [
          name,
          `${(stats.mode & 0o7777).toString(8)} ${stats.isFile() ? readFileSync(path, "utf8") : ""}`,
        ];
      }),
  );

const environmentOf = (name: string) =>
  parseEnvironment(readFileSync(join(root(), `etc/shorthop/${name}.env`), "utf8"));

describe("the files", () => {
  test("are complete after a run, with modes that keep secrets, and a second run changes nothing", async () => {
    const { count } = await run();
    expect(count).toBe(10);
    const after = snapshot();
    for (const [name, text] of Object.entries(after)) {
      expect([name, /change[-_]?me/i.exec(text.replaceAll(/^[0-9]* ?[#;].*$/gm, ""))]).toEqual([
        name,
        null,
      ]);
      if (name.endsWith(".env")) expect([name, text.slice(0, 4)]).toEqual([name, "600 "]);
      if (name.startsWith("shorthop/nats/"))
        expect([name, text.slice(0, 4)]).toEqual([name, "640 "]);
    }
    expect(after["shorthop/nats"]).toBe("750 ");
    expect(after["shorthop/nats/server.conf"]).not.toContain("tls {");
    expect(after["shorthop/nats/server.conf"]).toContain('listen: "127.0.0.1:4222"');
    expect(environmentOf("api")).toMatchObject({
      SHORT_URL: "https://go.shorthop.dev",
      API_URL: "https://api.go.shorthop.dev",
      DATABASE_URL: `postgres://shorthop_api:${secrets["API_PASSWORD"]}@127.0.0.1:5432/shorthop`,
      LINKS_SIGNING_KEY: secrets["LINKS_SIGNING_KEY"],
      // As in the example: what setup does not know stays.
      API_HOST: "127.0.0.1",
    });
    expect(await run()).toEqual({ count: 0, printed: "" });
    expect(snapshot()).toEqual(after);
  });

  test("a dry run shows every line that would change, without a secret, and changes nothing", async () => {
    await run();
    const before = snapshot();
    const other = {
      ...rotate("stores", secrets, "API_PASSWORD"),
      DASHBOARD_SECRET: "f".repeat(48),
    };
    const { count, printed } = await run(stepsWith(other), true);
    expect(count).toBe(1);
    expect(printed).toContain("processes: write /etc/shorthop/api.env");
    for (const value of [...Object.values(secrets), ...Object.values(other)])
      expect(printed).not.toContain(value ?? "");
    expect(snapshot()).toEqual(before);
  });

  test("an operator's own lines stay, and what was changed is repaired", async () => {
    await run();
    const path = join(root(), "etc/shorthop/api.env");
    appendFileSync(path, "LOG_LEVEL=debug\nSHORT_URL=https://wrong.shorthop.dev\n");
    chmodSync(path, 0o644);
    appendFileSync(join(root(), "etc/shorthop/nats/users.conf"), "# edited\n");
    const { count, printed } = await run(stepsWith(), true);
    expect(count).toBe(2);
    expect(printed).toContain("- SHORT_URL=https://wrong.shorthop.dev");
    expect(printed).toContain("mode 0644 becomes 0600");
    await run();
    expect(environmentOf("api")).toMatchObject({
      LOG_LEVEL: "debug",
      SHORT_URL: "https://go.shorthop.dev",
    });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect((await run()).count).toBe(0);
  });

  test("a run that is killed after any change is finished by the next", async () => {
    await run();
    const whole = snapshot();
    for (let changes = 0; changes < 10; changes++) {
      rmSync(join(root(), "etc"), { recursive: true });
      installPackages();
      const end = await run(killedAfter(changes)).catch((error: unknown) => String(error));
      expect(end).toBe("Error: killed");
      await run();
      expect(snapshot()).toEqual(whole);
    }
  });

  test("a ClickHouse server gets its users, the hashes of their passwords, and its address", async () => {
    mkdirSync(join(root(), "etc/clickhouse-server"));
    await run();
    const hashes = parseEnvironment(
      readFileSync(join(root(), "etc/clickhouse-server/shorthop.env"), "utf8"),
    );
    const password = secrets["CLICKHOUSE_API_PASSWORD"] ?? "";
    expect(hashes["CLICKHOUSE_API_PASSWORD_SHA256"]).toBe(
      new Bun.CryptoHasher("sha256").update(password).digest("hex"),
    );
    const users = readFileSync(join(root(), "etc/clickhouse-server/users.d/shorthop.xml"), "utf8");
    for (const [, name] of users.matchAll(/from_env="(\w+)"/g))
      expect(hashes).toHaveProperty(name ?? "");
    expect(environmentOf("api")["CLICKHOUSE_URL"]).toBe(
      `http://api:${password}@127.0.0.1:8123/shorthop`,
    );
  });

  test("redirectors with TLS serve port 443", async () => {
    settings = await completeSettings({ DOMAIN: "go.shorthop.dev", TLS: "certbot" });
    await run();
    expect(environmentOf("redirector")).toMatchObject({
      REDIRECTOR_PORT: "443",
      TLS_CERT_FILE: "tls_cert.pem",
    });
  });
});

/** The steps, of which the process dies before the change after so many. */
function killedAfter(changes: number): Step[] {
  let made = 0;
  return stepsWith().map(({ name, inspect }) => ({
    name,
    inspect: async () =>
      (await inspect()).map((change) => ({
        ...change,
        apply() {
          if (made++ === changes) throw new Error("killed");
          return change.apply();
        },
      })),
  }));
}

test("a step whose change has no effect is an error", () => {
  const step: Step = {
    name: "broken",
    inspect: () => [{ title: "do nothing", apply: () => undefined }],
  };
  expect(run([step])).rejects.toThrow('broken: "do nothing" did not have an effect.');
});

test("variables are set where they are, else where a comment has them, else at the end", () => {
  expect(setVariables("# A=1\n#A=2\nB=1\n A=3\n", { A: "x", B: undefined })).toBe(
    "# A=1\n#A=2\nB=1\nA=x\n",
  );
  expect(setVariables("#A=2\nB=1", { A: "x" })).toBe("A=x\nB=1\n");
  expect(setVariables("", { A: "x" })).toBe("A=x\n");
  expect(setVariables("B=1\n", { A: "x" })).toBe("B=1\nA=x\n");
});

describe("secrets", () => {
  test("are made once, and a host gets only those of its role", () => {
    expect(completeSecrets("stores", secrets)).toEqual(secrets);
    expect(Object.keys(secretsFor("redirector", secrets))).toEqual([
      "NATS_REDIRECTOR",
      "UNLOCK_SECRET",
      "LINKS_PUBLIC_KEYS",
    ]);
    expect(secretsFor("processes", secrets)).not.toHaveProperty("OWNER_PASSWORD");
    expect(new Set(Object.values(secrets)).size).toBe(Object.keys(secrets).length);
  });

  test("those of what is stored never change, and another name is refused", () => {
    for (const name of ["VISITOR_SECRET", "WEBHOOKS_SECRET"])
      expect(() => rotate("stores", secrets, name)).toThrow(`${name} must never change`);
    const elsewhere = { ...secrets, CLICKHOUSE_API: "http://clickhouse.internal:8123/shorthop" };
    expect(() => rotate("stores", elsewhere, "CLICKHOUSE_API_PASSWORD")).toThrow("no secret");
    expect(() => rotate("stores", secrets, "PATH")).toThrow('no secret "PATH"');
    const rotated = rotate("stores", secrets, "NATS_API");
    const { NATS_API: _, ...others } = secrets;
    expect(rotated).toMatchObject(others);
    expect(rotated["NATS_API"]).not.toBe(secrets["NATS_API"]);
  });

  test("the key of the links log is replaced, and the one before stays known until the next time", () => {
    const first = secrets["LINKS_PUBLIC_KEYS"];
    expect(first).toBe(publicKeyOf(secrets["LINKS_SIGNING_KEY"] ?? ""));
    const second = rotate("stores", secrets, "LINKS_SIGNING_KEY");
    const added = publicKeyOf(second["LINKS_SIGNING_KEY"] ?? "");
    expect(second["LINKS_PUBLIC_KEYS"]).toBe(`${added},${first}`);
    const third = rotate("stores", second, "LINKS_SIGNING_KEY");
    expect(third["LINKS_PUBLIC_KEYS"]?.split(",")[1]).toBe(added);
    expect(() => rotate("stores", secrets, "LINKS_PUBLIC_KEYS")).toThrow("no secret");
    // A host of redirectors has what it was given, and makes none.
    expect(completeSecrets("redirector", {})["LINKS_PUBLIC_KEYS"]).toBeUndefined();
  });

  test("are hidden, also those that setup did not make", () => {
    const mask = new Mask({ NATS_API: "s3cret" });
    expect(mask.hide("a s3cret b")).toBe("a … b");
    expect(mask.hide("+ NATS_URL=nats://api:old@host:4222,nats://other")).toBe(
      "+ NATS_URL=nats://api:…@host:4222,nats://other",
    );
    expect(mask.hide('- api_password: "old"')).toBe("- api_password: …");
    expect(mask.hide("DASHBOARD_SECRET=old")).toBe("DASHBOARD_SECRET=…");
  });
});

describe("settings", () => {
  test("are what is given, else the answer, else the default", async () => {
    const asked: string[] = [];
    const answered = await completeSettings({ TLS: "none" }, (text, preset) => {
      asked.push(`${text} ${preset}`);
      return Promise.resolve(text.startsWith("Domain") ? "GO.Shorthop.dev" : "");
    });
    expect(asked).toEqual([
      "Domain of the short links undefined",
      "E-mail address of the first user admin@go.shorthop.dev",
      "Provider of OpenID Connect for the dashboard: its https address, or none none",
    ]);
    expect(answered).toMatchObject({ DOMAIN: "go.shorthop.dev", EMAIL: "admin@go.shorthop.dev" });
  });

  const DOMAIN = "go.shorthop.dev";
  const ISSUER = "https://login.shorthop.dev";

  test.each<[Record<string, string>, RegExp]>([
    [{}, /--domain is missing/],
    [
      { DOMAIN: "a b", EMAIL: "a@shorthop.dev", STORES: "db", TLS_CERT: "x" },
      /^--domain must be a host.*\n--stores must be an address.*\n--tls-cert must be an absolute path$/,
    ],
    [
      { DOMAIN, OIDC_ISSUER: ISSUER },
      /^OIDC_CLIENT_ID is missing\nOIDC_CLIENT_SECRET is missing\nOIDC_ROLES is missing$/,
    ],
    [
      { DOMAIN, OIDC_ISSUER: "http://login.shorthop.dev", OIDC_ROLES: "a=boss" },
      /^OIDC_ISSUER must be https.*\nOIDC_ROLES must be a list/,
    ],
  ])("each wrong or missing one of %j has a line with its name", (given, lines) => {
    expect(completeSettings(given)).rejects.toThrow(lines);
  });

  test("of a provider are asked for with one only, and only hosts with an API have them", async () => {
    const given = { DOMAIN, EMAIL: "a@shorthop.dev", TLS: "none" };
    const answers = [ISSUER, "client-7", "a-secret-of-theirs", "", ""];
    settings = await completeSettings(given, () => Promise.resolve(answers.shift() ?? "?"));
    expect(settings).toMatchObject({
      OIDC_CLIENT_ID: "client-7",
      OIDC_ROLE_CLAIM: "none",
      OIDC_ROLES: "shorthop.dev=member",
      OIDC_BREAK_GLASS: "a@shorthop.dev",
    });
    await run();
    // There is no account yet, which its people could join.
    expect(environmentOf("api")["OIDC_ISSUER"]).toBeUndefined();
    settings.OIDC_ACCOUNT = "acct_01k9z3v6x7e8w9r0t1y2n3h4m5";
    const { printed } = await run(stepsWith(), true);
    expect(printed).toContain("OIDC_CLIENT_ID=client-7");
    expect(printed).not.toContain("a-secret-of-theirs");
    expect((await run()).count).toBe(1);
    const { OIDC_ROLE_CLAIM, ...found } = environmentOf("api");
    expect(found).toMatchObject({
      OIDC_ISSUER: ISSUER,
      OIDC_CLIENT_SECRET: "a-secret-of-theirs",
      OIDC_ACCOUNT: settings.OIDC_ACCOUNT,
      OIDC_BREAK_GLASS: "a@shorthop.dev",
    });
    expect(OIDC_ROLE_CLAIM).toBeUndefined();
    for (const name of ["worker", "redirector", "migrate"])
      expect(Object.keys(environmentOf(name)).filter((key) => key.startsWith("OIDC"))).toEqual([]);
    expect(loadConfig(z.object(oidcVariables), environmentOf("api")).OIDC_ROLES).toEqual([
      { value: "shorthop.dev", role: "member" },
    ]);
  });

  test("of a provider are complete with the first account, and known from then on", async () => {
    settings = await completeSettings({
      DOMAIN,
      EMAIL: "a@shorthop.dev",
      OIDC_ISSUER: ISSUER,
      OIDC_CLIENT_ID: "client-7",
      OIDC_CLIENT_SECRET: "a-secret-of-theirs",
    });
    await run();
    const setup = new Setup(settings, secrets, host);
    setup.created.account = "acct_01k9z3v6x7e8w9r0t1y2n3h4m5";
    const added = setup.steps().filter(({ name }) => name === "signing in");
    expect((await run(added)).count).toBe(2);
    expect(environmentOf("api")["OIDC_ACCOUNT"]).toBe(setup.created.account);
    // As the next run reads them.
    settings = await completeSettings(environmentOf("setup"));
    expect(settings).toEqual(setup.settings);
    expect((await run()).count).toBe(0);
    const names = new Setup(settings, secrets, host).steps().map(({ name }) => name);
    expect(names).not.toContain("signing in");
  });
});
