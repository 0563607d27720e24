/** PgBouncer between the processes and PostgreSQL, by the commands of docs/managed-stores.md. */
import { strict as assert } from "node:assert";
import { join } from "node:path";

import * as z from "zod";

import { findingSchema } from "../../shared/preflight.ts";
import { LINKS_CHANGED, LINKS_MORE } from "../harness/bulk-links.ts";
import { PROJECT_DIR } from "../harness/stack.ts";
import { Calls } from "./calls.ts";
import { readBlocks } from "./document.ts";
import type { Context } from "./install.ts";

const VERSION_MIN = "1.21";

/** The check of `doctor` that names a role without a time limit. */
const CHECK = "time limit of statements";

export async function pool(context: Context): Promise<void> {
  const { machine, bulk } = context;
  const block = readBlocks(join(PROJECT_DIR, "docs/managed-stores.md")).get("pgbouncer");
  if (block === undefined) throw new Error("docs/managed-stores.md has no block pgbouncer.");
  const version = await machine.run(
    "apt-cache show pgbouncer | sed --quiet 's/^Version: //p' | head --lines=1",
  );
  const isOld = await machine.run(
    `dpkg --compare-versions '${version.trim()}' ge ${VERSION_MIN} || echo old`,
  );
  if (isOld !== "") {
    console.warn(`\n!!! PgBouncer ${version.trim()} is older than ${VERSION_MIN}: NOT TESTED\n`);
    return;
  }
  await machine.run(block);
  const calls = new Calls(context);
  await calls.waitUntilReady();
  const clients = await machine.run(
    "ss --no-header --tcp --numeric state established sport = :6432 | wc --lines",
  );
  assert.ok(Number(clients) > 0, "nothing is connected to PgBouncer");
  await bulk?.create(LINKS_MORE);
  await bulk?.change(LINKS_CHANGED);
  await bulk?.expectCurrent("a change to PgBouncer");
  const link = await calls.createLink("pooled");
  await calls.follow(link);
  await calls.expectClicks(link, 1);
  assert.deepEqual(await findLimit(context), ["ok"]);
  const role = "runuser --user postgres -- psql --quiet --command 'alter role shorthop_api";
  await machine.run(`${role} reset statement_timeout' && systemctl restart pgbouncer`);
  assert.deepEqual(await findLimit(context), ["warning"]);
}

/** What `doctor` says of the time limit of statements. */
async function findLimit({ machine }: Context): Promise<string[]> {
  const findings = z
    .array(findingSchema)
    .parse(JSON.parse(await machine.run("shorthop doctor --json || test $? = 1")));
  return findings.filter(({ check }) => check === CHECK).map(({ status }) => status);
}
