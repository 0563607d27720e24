/**
 * Goal: an installation of the version before styles of QR codes keeps its branding, and serves it
 * during the upgrade.
 */
import { expect, test } from "bun:test";

import { DEFAULT_QR_STYLE } from "../../shared/contracts/qr-style.ts";
import { createLog } from "../../shared/log.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { changeBranding, findBranding } from "../branding/sql.ts";
import { schemaState } from "./applied.ts";
import { migratePostgres } from "./migrate.ts";

test("branding from before the migration stays, and has no style", async () => {
  await using database = await startPostgres();
  const { sql } = database;
  await sql`alter table account_branding drop column qr_style`;
  await sql`delete from schema_migrations where id = 26`;
  const owner = { accountId: await database.addAccount(), mode: "live" } as const;
  await sql`
    insert into account_branding (account_id, mode, name, color)
    values (${owner.accountId}, 'live', 'Acme', '#1d4ed8')`;
  await migratePostgres(sql, createLog("test", "silent"));
  expect(await schemaState(sql)).toBe("ok");
  expect(await findBranding(sql, owner)).toEqual({
    name: "Acme",
    color: "#1d4ed8",
    logo: null,
    qrStyle: null,
  });
  // What the previous version does while this one is being installed.
  await sql`
    insert into account_branding as b (account_id, mode, name) values (${owner.accountId}, 'live', 'Acme & Co.')
    on conflict (account_id, mode) do update set name = excluded.name`;
  const { qrStyle } = await changeBranding(sql, owner, { qrStyle: DEFAULT_QR_STYLE });
  expect(qrStyle).toEqual(DEFAULT_QR_STYLE);
}, 240_000);

test("the table takes no style that is not an object, and no large one", async () => {
  await using database = await startPostgres();
  const { sql } = database;
  const owner = { accountId: await database.addAccount(), mode: "live" } as const;
  const insert = (style: string) =>
    sql`insert into account_branding (account_id, mode, qr_style)
        values (${owner.accountId}, 'live', ${style}::text::jsonb)`.then(
      () => true,
      () => false,
    );
  expect(await insert(`["dots"]`)).toBe(false);
  expect(await insert(JSON.stringify({ shape: "x".repeat(1_000) }))).toBe(false);
  expect(await insert(JSON.stringify(DEFAULT_QR_STYLE))).toBe(true);
}, 240_000);
