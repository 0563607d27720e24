/** Goal: the tables of docs/credentials.md have every permission and every file that is shipped. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { NATS_RIGHTS } from "./nats.ts";
import { readTable } from "./rights.ts";

const ROOT = join(import.meta.dir, "../..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** What makes each file private, in the file that the page names. */
const SETTINGS = {
  "`/etc/shorthop/*.env`": "chmodSync(path, 0o600)",
  "`/etc/shorthop/secrets.env`": "ACCESS = { mode: 0o600 }",
  "`/etc/clickhouse-server/shorthop.env`": "access: { mode: 0o600 }",
  "`/root/shorthop.secrets`": "umask 077\nsecret()",
  "`/root/shorthop/`": "install --directory --mode=0700 /root/shorthop",
  "`/etc/shorthop/nats/`": "install --directory --group=nats --mode=0750 /etc/shorthop/nats",
  "`/etc/shorthop/nats/*`":
    "install --group=nats --mode=0640 --target-directory=/etc/shorthop/nats",
  "`/var/lib/nats/`": "StateDirectoryMode=0700",
  "`/etc/shorthop/tls/key.pem`": "install -D --mode=0600",
  "`/var/lib/shorthop-redirector-*/`": "StateDirectoryMode=0700\nUMask=0077",
  "`/var/lib/shorthop-links/`":
    "StateDirectory=shorthop-redirector-%i shorthop-links\nStateDirectoryMode=0700",
  "`/var/backups/shorthop/`": "UMask=0077",
};

test("every file that is listed is made private where the page says", () => {
  const files = new Map(readTable("## Files").map(([path = "", , , , file = ""]) => [path, file]));
  for (const [path, setting] of Object.entries(SETTINGS))
    expect([path, read((files.get(path) ?? "").replaceAll("`", ""))]).toEqual([
      path,
      expect.stringContaining(setting),
    ]);
  // And the header.
  expect(files.size).toBe(Object.keys(SETTINGS).length + 1);
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
  const [header = []] = readTable("## ClickHouse");
  const listed = header.slice(1, -1).map((cell) => cell.replaceAll("`", ""));
  expect(names.toSorted()).toEqual(listed.toSorted());
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
  const allowed = NATS_RIGHTS.filter(({ may }) => may.length > 0).flatMap(({ tried }) =>
    tried.map((one) => one.replace(/^\w+ /, "")),
  );
  const unlisted = patterns.filter(
    (pattern) => !allowed.some((subject) => subject === pattern || matches(pattern, subject)),
  );
  expect(unlisted).toEqual([]);
});
