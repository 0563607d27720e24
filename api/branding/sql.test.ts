/** Goal: branding belongs to one account and mode, and a change changes nothing else. */
import { expect, test } from "bun:test";

import { DEFAULT_QR_STYLE, type QrStyle } from "../../shared/contracts/qr-style.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import type { AccountScope } from "../http/principal.ts";
import { type Branding, changeBranding, findBranding, findQrBranding } from "./service.ts";

const postgres = await forFile(startPostgres());

const newOwner = async (): Promise<AccountScope> => ({
  accountId: await postgres.addAccount(),
  mode: "live",
});

const versionOf = async ({ accountId, mode }: AccountScope): Promise<number | undefined> => {
  const [row] = await postgres.sql<{ version: number }[]>`
    select version from account_branding where account_id = ${accountId} and mode = ${mode}`;
  return row?.version;
};

test("fields change one by one, null removes one, and every change is counted", async () => {
  const { sql } = postgres;
  const owner = await newOwner();
  expect(await findBranding(sql, owner)).toBeUndefined();
  const logo = Buffer.from([0, 1, 255]);
  const qrStyle: QrStyle = { ...DEFAULT_QR_STYLE, foreground: "#1d4ed8", shape: "dots" };
  await changeBranding(sql, owner, { name: "Acme", logo });
  expect(await findBranding(sql, owner)).toEqual({
    name: "Acme",
    color: null,
    logo,
    qrStyle: null,
  });
  await changeBranding(sql, owner, { color: "#1d4ed8", qrStyle });
  expect(await findBranding(sql, owner)).toEqual({
    name: "Acme",
    color: "#1d4ed8",
    logo,
    qrStyle,
  });
  const after = await changeBranding(sql, owner, { name: null, logo: null });
  expect(after).toEqual({ name: null, color: "#1d4ed8", logo: null, qrStyle });
  expect((await changeBranding(sql, owner, { qrStyle: null })).qrStyle).toBeNull();
  expect(await versionOf(owner)).toBe(4);
});

test("of a logo nothing is read for a QR code that has none", async () => {
  const { sql } = postgres;
  const owner = await newOwner();
  expect(await findQrBranding(sql, owner, true)).toBeUndefined();
  const logo = Buffer.from([0, 1, 255]);
  await changeBranding(sql, owner, { name: "Acme", logo });
  const find = async (wantsLogo: boolean | undefined) =>
    await findQrBranding(sql, owner, wantsLogo);
  expect(await find(undefined)).toEqual({ qrStyle: null, logo: null });
  expect(await find(true)).toEqual({ qrStyle: null, logo });
  for (const saved of [false, true]) {
    const qrStyle = { ...DEFAULT_QR_STYLE, logo: saved };
    await changeBranding(sql, owner, { qrStyle });
    expect(await find(undefined)).toEqual({ qrStyle, logo: saved ? logo : null });
    expect(await find(true)).toEqual({ qrStyle, logo });
    expect(await find(false)).toEqual({ qrStyle, logo: null });
  }
});

test("other accounts and the other mode are untouched", async () => {
  const { sql } = postgres;
  const [owner, other] = [await newOwner(), await newOwner()];
  await changeBranding(sql, other, { name: "Other" });
  await changeBranding(sql, owner, { name: "Acme" });
  expect(await findBranding(sql, { ...owner, mode: "test" })).toBeUndefined();
  expect(await findBranding(sql, other)).toMatchObject({ name: "Other" });
  expect(await versionOf(other)).toBe(1);
});

test("the table takes no colour that could end a style, and no large image", async () => {
  const { sql } = postgres;
  const owner = await newOwner();
  const fails = async (change: Partial<Branding>) =>
    await changeBranding(sql, owner, change).then(
      () => false,
      () => true,
    );
  expect(await fails({ color: "#fff}</style>" })).toBe(true);
  expect(await fails({ logo: Buffer.alloc(32_769) })).toBe(true);
  expect(await versionOf(owner)).toBeUndefined();
});

test("the table takes no style of QR codes that is not an object, and no large one", async () => {
  const { sql } = postgres;
  const owner = await newOwner();
  const insert = (style: string) =>
    sql`insert into account_branding (account_id, mode, qr_style)
        values (${owner.accountId}, 'live', ${style}::text::jsonb)`.then(
      () => true,
      () => false,
    );
  expect(await insert(`["dots"]`)).toBe(false);
  expect(await insert(JSON.stringify({ shape: "x".repeat(1_000) }))).toBe(false);
  expect(await insert(JSON.stringify(DEFAULT_QR_STYLE))).toBe(true);
});
