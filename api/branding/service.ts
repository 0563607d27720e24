/** Reads and changes how an account presents itself. */
import { recordEvents } from "../events/record.ts";
import type { AccountScope, Author } from "../http/principal.ts";
import type { Payer } from "../limits/budgets.ts";
import { drawInTurn } from "../limits/drawing.ts";
import type { Sql, Transaction } from "../postgres.ts";
import { encodeLogo } from "./logo.ts";
import { type Branding, type ChangeBrandingBody, NO_BRANDING, type QrBranding } from "./model.ts";

export class BrandingService {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async find(owner: AccountScope): Promise<Branding> {
    return (await findBranding(this.#sql, owner)) ?? NO_BRANDING;
  }

  /** Finds the saved style of QR codes, and the logo if it is drawn. */
  async findForQr(owner: AccountScope, wantsLogo: boolean | undefined): Promise<QrBranding> {
    return (await findQrBranding(this.#sql, owner, wantsLogo)) ?? NO_BRANDING;
  }

  /**
   * Changes the fields that the body has; null removes one. Throws `invalid_request` for a logo
   * that is no image, `rate_limited`, and `QueueFull` when too many are being drawn.
   */
  async change(owner: Author & Payer, body: ChangeBrandingBody): Promise<Branding> {
    const { name, color, logo, qr_style } = body;
    const change: Partial<Branding> = {};
    if (name !== undefined) change.name = name;
    if (color !== undefined) change.color = color?.toLowerCase() ?? null;
    if (logo === null) change.logo = null;
    else if (logo !== undefined) {
      const bytes = Buffer.from(logo, "base64");
      change.logo = await drawInTurn(owner, () => encodeLogo(bytes));
    }
    if (qr_style !== undefined) change.qrStyle = qr_style;
    return await this.#sql.begin(async (sql) => {
      const branding = await changeBranding(sql, owner, change);
      const data = { branding: { fields: Object.keys(change) } };
      await recordEvents(sql, owner, [{ type: "branding.updated", objectId: null, data }]);
      return branding;
    });
  }
}

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
