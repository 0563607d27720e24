/** Goal: each process of the compose file has the credentials that are meant for it, and waits for its rights. */
import { expect, test } from "bun:test";
import { join } from "node:path";

import * as z from "zod";

const composeSchema = z.object({
  services: z.record(
    z.string(),
    z.object({
      environment: z.record(z.string(), z.string()).default({}),
      depends_on: z.union([z.array(z.string()), z.record(z.string(), z.unknown())]).optional(),
    }),
  ),
});

const text = await Bun.file(join(import.meta.dir, "compose.yaml")).text();
const { services } = composeSchema.parse(Bun.YAML.parse(text));

test.each(["api", "worker"])("%s connects to PostgreSQL as a user with few rights", (name) => {
  const { environment, depends_on } = services[name] ?? { environment: {} };
  expect(environment["DATABASE_URL"]).toStartWith(`postgres://shorthop_${name}:`);
  expect(Object.keys(depends_on ?? {})).toContain("grants");
});

test("only what migrates and grants has the owner's password", () => {
  const owners = Object.entries(services)
    .filter(([, { environment }]) => JSON.stringify(environment).includes("${POSTGRES_PASSWORD"))
    .map(([name]) => name);
  expect(owners.toSorted()).toEqual(["grants", "migrate", "postgres", "roles"]);
});
