/** Reads and changes how an account presents itself. */
import type { AccountScope } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import { encodeLogo } from "./logo.ts";
import { type Branding, type ChangeBrandingBody, NO_BRANDING } from "./model.ts";
import { changeBranding, findBranding, findQrBranding } from "./sql.ts";

export type BrandingService = ReturnType<typeof createBrandingService>;

export const createBrandingService = ({ sql }: { sql: Sql }) => ({
  find: async (owner: AccountScope): Promise<Branding> =>
    (await findBranding(sql, owner)) ?? NO_BRANDING,

  /** What QR codes look like: the saved style, and the logo if it is drawn. */
  findForQr: async (
    owner: AccountScope,
    wantsLogo: boolean | undefined,
  ): Promise<Pick<Branding, "qrStyle" | "logo">> =>
    (await findQrBranding(sql, owner, wantsLogo)) ?? NO_BRANDING,

  /**
   * Changes the fields that the body has; null removes one. Throws `invalid_request` for a logo that
   * is no image, and `unavailable` when too many are being encoded.
   */
  async change(owner: AccountScope, body: ChangeBrandingBody): Promise<Branding> {
    const { name, color, logo, qr_style } = body;
    const change: Partial<Branding> = {};
    if (name !== undefined) change.name = name;
    if (color !== undefined) change.color = color?.toLowerCase() ?? null;
    if (logo !== undefined)
      change.logo = logo === null ? null : await encodeLogo(Buffer.from(logo, "base64"));
    if (qr_style !== undefined) change.qrStyle = qr_style;
    return await changeBranding(sql, owner, change);
  },
});
