import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import { ConfigError, envHosts, envInstance, envUrl, loadConfig, metricsPort } from "./env.ts";

const schema = z.object({
  SECRET: z.string().optional(),
  URL: envUrl(["nats"]).optional(),
  PORT: z.coerce.number().optional(),
});

const EXAMPLES = join(import.meta.dir, "../deploy/systemd");

describe("the configuration", () => {
  test.each([
    ["SECRET", "change-me-to-32-random-characters-or-more"],
    ["SECRET", "CHANGE_ME"],
    ["SECRET", "changeme"],
    ["URL", "nats://api:change-me@nats.internal:4222"],
  ])("rejects a placeholder instead of a secret: %s=%s", (name, value) => {
    expect(() => loadConfig(schema, { [name]: value })).toThrow(`${name}: must not be`);
  });

  test("names every invalid variable at once, and ignores other variables", () => {
    const env = { SECRET: "change-me", PORT: "x", URL: "http://x", OTHER: "change-me" };
    const problem = (() => {
      try {
        loadConfig(schema, env);
      } catch (error) {
        return error;
      }
      return undefined;
    })();
    if (!(problem instanceof ConfigError)) throw new Error("The configuration was accepted.");
    expect(problem.message).toMatch(/PORT: .*\n.*URL|URL: .*\n.*PORT/);
    expect(problem.message).toContain("SECRET: must not be");
    expect(problem.message).not.toContain("OTHER");
    expect(loadConfig(schema, { SECRET: "exchange mechanics", URL: "" })).toEqual({
      SECRET: "exchange mechanics",
    });
  });

  test("is without the white space at the ends of values, which secrets from files have", () => {
    const env = { SECRET: "exchange mechanics\n", URL: " nats://a:4222\r\n", PORT: " \n" };
    expect(loadConfig(schema, env)).toEqual({
      SECRET: "exchange mechanics",
      URL: "nats://a:4222",
    });
  });

  test.each([
    [
      "api",
      ["DATABASE_URL", "NATS_URL", "LINKS_SIGNING_KEY", "CLICKHOUSE_URL", "DASHBOARD_SECRET"],
    ],
    ["worker", ["DATABASE_URL", "NATS_URL", "CLICKHOUSE_URL", "VISITOR_HASH_SECRET"]],
    ["redirector", ["NATS_URL", "LINKS_PUBLIC_KEYS", "LINK_UNLOCK_SECRET"]],
  ])("of the example for the %s is invalid until its secrets are set", async (name, secrets) => {
    const module: { configSchema: z.ZodObject } = await import(`../${name}/config.ts`);
    const text = readFileSync(join(EXAMPLES, `${name}.env`), "utf8");
    const env = Object.fromEntries(
      [...text.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, key = "", value = ""]) => [key, value]),
    );
    const load = (more: Record<string, string>) =>
      loadConfig(module.configSchema, { ...env, JOURNAL_DIR: "/var/lib/x", ...more });
    for (const secret of secrets) expect(() => load({})).toThrow(`${secret}: must not be`);
    const set = secrets.map((secret) => [
      secret,
      secret.startsWith("LINKS_") ? "5".repeat(64) : env[secret]?.replace("change-me", "8d1f0e3b"),
    ]);
    expect(() => load(Object.fromEntries(set))).not.toThrow();
  });
});

describe("instances on one host", () => {
  const ports = { single: 9102, instances: 9110 };

  test("have a metrics port each, which a configured port replaces", () => {
    expect(metricsPort(undefined, undefined, ports)).toBe(9102);
    expect(metricsPort(undefined, 1, ports)).toBe(9111);
    expect(metricsPort(undefined, 10, ports)).toBe(9120);
    expect(metricsPort(7000, 10, ports)).toBe(7000);
  });

  test("have a number from 1 on", () => {
    const numbered = z.object({ INSTANCE: envInstance() });
    expect(loadConfig(numbered, { INSTANCE: "12" })).toEqual({ INSTANCE: 12 });
    expect(loadConfig(numbered, {})).toEqual({});
    for (const INSTANCE of ["0", "400", "one", "1.5"])
      expect(() => loadConfig(numbered, { INSTANCE })).toThrow("INSTANCE:");
  });
});

test("hosts of a configuration are those that requests name, in whatever script they are set", () => {
  const schema = z.object({ HOSTS: envHosts() });
  expect(loadConfig(schema, { HOSTS: "Bücher.de, WWW.sho.rt.,[::1]" })).toEqual({
    HOSTS: ["xn--bcher-kva.de", "www.sho.rt", "[::1]"],
  });
  expect(loadConfig(schema, {})).toEqual({ HOSTS: [] });
});
