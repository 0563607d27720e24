/**
 * Goal: each process of the compose file has the credentials that are meant for it and no others,
 * and waits for its rights.
 */
import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { join } from "node:path";

import * as z from "zod";

const composeSchema = z.object({
  services: z.record(
    z.string(),
    z.object({
      command: z.array(z.string()).optional(),
      entrypoint: z.array(z.string()).optional(),
      environment: z.record(z.string(), z.string()).default({}),
      user: z.string().optional(),
      healthcheck: z.object({ test: z.array(z.string()) }).optional(),
      depends_on: z.union([z.array(z.string()), z.record(z.string(), z.unknown())]).optional(),
    }),
  ),
});

const text = await Bun.file(join(import.meta.dir, "compose.yaml")).text();
const { services } = composeSchema.parse(Bun.YAML.parse(text));

/** The services that get each secret. */
const SECRETS = {
  POSTGRES_PASSWORD: ["grants", "postgres", "roles"],
  POSTGRES_OWNER_PASSWORD: ["grants", "migrate", "roles"],
  POSTGRES_API_PASSWORD: ["api", "grants", "roles"],
  POSTGRES_WORKER_PASSWORD: ["grants", "roles", "worker"],
  CLICKHOUSE_OWNER_PASSWORD: ["clickhouse", "migrate"],
  CLICKHOUSE_API_PASSWORD: ["api", "clickhouse"],
  CLICKHOUSE_WORKER_PASSWORD: ["clickhouse", "worker"],
  NATS_REDIRECTOR_PASSWORD: ["nats", "redirector"],
  NATS_WORKER_PASSWORD: ["nats", "worker"],
  NATS_API_PASSWORD: ["api", "nats"],
  NATS_OPERATOR_PASSWORD: ["nats"],
  DASHBOARD_SECRET: ["api"],
  VISITOR_HASH_SECRET: ["worker"],
  WEBHOOKS_SECRET: ["api", "worker"],
  LINK_UNLOCK_SECRET: ["redirector"],
  LINKS_SIGNING_KEY: ["api"],
};

test("every secret reaches only the services that need it", () => {
  const found: Record<string, string[]> = {};
  for (const [service, { environment }] of Object.entries(services))
    for (const [, name = ""] of JSON.stringify(environment).matchAll(
      /\$\{([A-Z_]+_(?:PASSWORD|SECRET|KEY))\W/g,
    ))
      found[name] = [...new Set([...(found[name] ?? []), service])].toSorted();
  expect(found).toEqual(SECRETS);
});

test.each(["api", "worker"])("%s connects to both databases as a user with few rights", (name) => {
  const { environment, depends_on } = services[name] ?? { environment: {} };
  expect(environment["DATABASE_URL"]).toStartWith(`postgres://shorthop_${name}:`);
  expect(environment["CLICKHOUSE_URL"]).toStartWith(`http://${name}:`);
  expect(environment["NATS_URL"]).toStartWith(`nats://${name}:`);
  expect(Object.keys(depends_on ?? {})).toContain("grants");
});

test("ClickHouse gets the hash of each user's password, and no password", () => {
  const { command: [script = ""] = [], entrypoint = [] } = services["clickhouse"] ?? {};
  const passwords = { OWNER: "of the owner", WORKER: "with $HOME and 'quotes'", API: "%s\\n" };
  const env = Object.fromEntries(
    Object.entries(passwords).map(([user, password]) => [`CLICKHOUSE_${user}_PASSWORD`, password]),
  );
  // Compose replaces `$$`; the image's own entry point starts the server.
  const started = script.replaceAll("$$", "$").replace("exec /entrypoint.sh", "exec env");
  const { stdout } = Bun.spawnSync([...entrypoint, started], { env: { ...process.env, ...env } });
  const lines = stdout
    .toString()
    .split("\n")
    .filter((line) => line.startsWith("CLICKHOUSE_"));
  expect(lines.toSorted()).toEqual(
    Object.entries(passwords)
      .map(([user, password]) => {
        const hash = createHash("sha256").update(password).digest("hex");
        return `CLICKHOUSE_${user}_PASSWORD_SHA256=${hash}`;
      })
      .toSorted(),
  );
});

test("each process is a user of its own, and is asked whether it is alive on its own port", () => {
  const processes = ["api", "redirector", "worker"].map((name) => services[name]);
  expect(new Set(processes.map((service) => service?.user)).size).toBe(3);
  expect(processes.map((service) => service?.healthcheck?.test)).toEqual(
    ["9101", "9102", "9103"].map((port) => ["CMD", "shorthop-health", port]),
  );
});

test.each([
  [200, 0],
  [503, 1],
])("a process that responds with %p is alive: exit code %p", async (status, exitCode) => {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) => new Response(null, { status: url.endsWith("/healthz") ? status : 404 }),
  });
  const script = join(import.meta.dir, "shorthop-health");
  const child = Bun.spawn([script, String(server.port)], { stderr: "ignore" });
  expect(await child.exited).toBe(exitCode);
  await server.stop(true);
});

test("a process that does not listen is not alive", async () => {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const port = String(server.port);
  await server.stop(true);
  const child = Bun.spawn([join(import.meta.dir, "shorthop-health"), port], { stderr: "ignore" });
  expect(await child.exited).not.toBe(0);
});
