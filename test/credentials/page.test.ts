/**
 * Goal: docs/credentials.md says what the tests try, and the tables have every permission and every
 * file that is shipped.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { CLICKHOUSE_USERS } from "./clickhouse-rights.ts";
import { PRIVATE_FILES } from "./files.ts";
import { NATS_RIGHTS } from "./jetstream-rights.ts";
import type { NatsRight } from "./nats-rights.ts";
import { PAGE, renderPage } from "./page.ts";

const ROOT = join(import.meta.dir, "../..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

test("the page is the one that the tables make", async () => {
  expect(await Bun.file(PAGE).text()).toBe(renderPage());
});

test("every file that is listed is made private where the page says", () => {
  for (const { path, setBy } of PRIVATE_FILES)
    expect([path, read(setBy.file).includes(setBy.text)]).toEqual([path, true]);
});

test.each([
  ["shorthop-api@.service", ["api.env"]],
  ["shorthop-worker.service", ["worker.env"]],
  ["shorthop-redirector@.service", ["redirector.env", "redirector-%i.env"]],
])("systemd gives %s the secrets of no other process", (unit, files) => {
  const text = read(`deploy/systemd/${unit}`);
  const given = [...text.matchAll(/^EnvironmentFile=-?\/etc\/shorthop\/(.+)$/gm)];
  expect(given.map(([, name]) => name)).toEqual(files);
  expect(text).toContain("\nDynamicUser=yes\n");
});

test("what downloads GeoIP data gets none of the worker's secrets", () => {
  const unit = read("deploy/systemd/shorthop-geoip.service");
  const secrets = [...read("deploy/systemd/worker.env").matchAll(/^(\w+)=.*change-me/gm)];
  expect(secrets).toHaveLength(4);
  const [, unset = ""] = /^UnsetEnvironment=(.+)$/m.exec(unit) ?? [];
  expect(unset.split(" ")).toEqual(expect.arrayContaining(secrets.map(([, name]) => name)));
  expect(unit).toMatch(/^InaccessiblePaths=-\/etc\/shorthop$/m);
});

test("every user of ClickHouse that is shipped is listed", () => {
  const [, users = ""] = /<users>([^]*)<\/users>/.exec(read("deploy/clickhouse/users.xml")) ?? [];
  const names = [...users.matchAll(/^ {4}<(\w+)>$/gm)].map(([, name = ""]) => name);
  expect(names.toSorted()).toEqual([...CLICKHOUSE_USERS].toSorted());
});

/** Whether a pattern of NATS, with `*` for a token and `>` for one or more, matches a subject. */
function matches(pattern: string, subject: string): boolean {
  const [tokens, parts] = [pattern.split("."), subject.split(".")];
  const end = tokens.indexOf(">");
  if (end >= 0 ? parts.length <= end : parts.length !== tokens.length) return false;
  return tokens.every((token, i) => token === "*" || i === end || token === parts[i]);
}

test("every permission of the NATS users is in a row of the tables for some user", () => {
  const conf = read("deploy/nats/users.conf").replaceAll(/^\s*#.*$/gm, "");
  const patterns = [...conf.matchAll(/"([^"]+)"/g)]
    .map(([, pattern = ""]) => pattern)
    .filter((pattern) => pattern !== ">" && !pattern.endsWith(".conf"));
  expect(patterns.length).toBeGreaterThan(60);
  const allowed = NATS_RIGHTS.filter(({ may }: NatsRight) => may.length > 0).flatMap(
    ({ subjects }) => subjects,
  );
  const unlisted = patterns.filter(
    (pattern) => !allowed.some((subject) => subject === pattern || matches(pattern, subject)),
  );
  expect(unlisted).toEqual([]);
});
