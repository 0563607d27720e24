/** Reads and changes how an account presents itself. */
import { recordEvents } from "../events/record.ts";
import type { AccountScope, Author } from "../http/principal.ts";
import type { Payer } from "../limits/budgets.ts";
import { drawInTurn } from "../limits/drawing.ts";
import type { Sql } from "../postgres.ts";
import { encodeLogo } from "./logo.ts";
import { type Branding, type ChangeBrandingBody, NO_BRANDING, type QrBranding } from "./model.ts";
import { changeBranding, findBranding, findQrBranding } from "./sql.ts";

export class BrandingService {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async find(owner: AccountScope): Promise<Branding> {
    return (await findBranding(this.#sql, owner)) ?? NO_BRANDING;
  }

  /** What QR codes look like: the saved style, and the logo if it is drawn. */
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
