/** Reads and changes how an account presents itself. */
import type { AccountScope } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import { encodeLogo } from "./logo.ts";
import { type Brand, type ChangeBrandingBody, NO_BRAND } from "./model.ts";
import { changeBranding, findBranding } from "./sql.ts";

export type BrandingService = ReturnType<typeof createBrandingService>;

export const createBrandingService = ({ sql }: { sql: Sql }) => ({
  find: async (owner: AccountScope): Promise<Brand> => (await findBranding(sql, owner)) ?? NO_BRAND,

  /**
   * Changes the fields that the body has; null removes one. Throws `invalid_request` for a logo that
   * is no image, and `unavailable` when too many are being encoded.
   */
  async change(owner: AccountScope, { name, color, logo }: ChangeBrandingBody): Promise<Brand> {
    const change: Partial<Brand> = {};
    if (name !== undefined) change.name = name;
    if (color !== undefined) change.color = color?.toLowerCase() ?? null;
    if (logo !== undefined)
      change.logo = logo === null ? null : await encodeLogo(Buffer.from(logo, "base64"));
    return await changeBranding(sql, owner, change);
  },
});
