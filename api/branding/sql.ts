/** SQL statements on the branding of accounts. */
import type { AccountScope } from "../http/principal.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { Branding, QrBranding } from "./model.ts";

export async function findBranding(
  sql: Sql,
  { accountId, mode }: AccountScope,
): Promise<Branding | undefined> {
  const [row] = await sql<Branding[]>`
    select name, color, logo, qr_style as "qrStyle" from account_branding
     where account_id = ${accountId} and mode = ${mode}`;
  return row;
}

/**
 * The owner's style of QR codes; and the logo, up to 32 KiB, only if it is wanted, by default by
 * the style.
 */
export async function findQrBranding(
  sql: Sql,
  { accountId, mode }: AccountScope,
  wantsLogo: boolean | undefined,
): Promise<QrBranding | undefined> {
  const [row] = await sql<QrBranding[]>`
    select qr_style as "qrStyle",
           case when coalesce(${wantsLogo ?? null}::boolean, (qr_style ->> 'logo')::boolean) then logo end as logo
      from account_branding
     where account_id = ${accountId} and mode = ${mode}`;
  return row;
}

/** Changes fields of the owner's branding, and counts the change. */
export async function changeBranding(
  sql: Sql | Transaction,
  { accountId, mode }: AccountScope,
  change: Partial<Branding>,
): Promise<Branding> {
  const { name, color, logo, qrStyle } = change;
  const style = qrStyle === undefined || qrStyle === null ? null : sql.json(qrStyle);
  const [row] = await sql<[Branding]>`
    insert into account_branding as b (account_id, mode, name, color, logo, qr_style)
    values (${accountId}, ${mode}, ${name ?? null}, ${color ?? null}, ${logo ?? null}, ${style})
    on conflict (account_id, mode) do update
       set name = case when ${name !== undefined} then excluded.name else b.name end,
           color = case when ${color !== undefined} then excluded.color else b.color end,
           logo = case when ${logo !== undefined} then excluded.logo else b.logo end,
           qr_style = case when ${qrStyle !== undefined} then excluded.qr_style else b.qr_style end,
           version = b.version + 1,
           updated_at = now()
    returning name, color, logo, qr_style as "qrStyle"`;
  return row;
}
