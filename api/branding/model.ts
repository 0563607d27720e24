/** How an account presents itself on the pages of its shared statistics. */
import * as z from "zod";

import type { changeBrandingBody } from "../../shared/contracts/branding-schemas.ts";
import { type QrStyle, qrStyleFields } from "../../shared/contracts/qr-style.ts";

export type ChangeBrandingBody = z.output<typeof changeBrandingBody>;

export type Brand = {
  name: string | null;
  /** As chosen, `#rrggbb`. */
  color: string | null;
  /** A WebP image. */
  logo: Buffer | null;
};

export type Branding = Brand & {
  /** How QR codes look unless a request says otherwise. */
  qrStyle: QrStyle | null;
};

/** The branding of an account that has chosen none. */
export const NO_BRANDING: Branding = { name: null, color: null, logo: null, qrStyle: null };

const savedQrStyle = z.object(qrStyleFields).meta({ id: "QrStyle" });

export const brandingResponse = z
  .object({
    name: z.string().nullable(),
    color: z.string().nullable(),
    logo: z.string().nullable(),
    qr_style: savedQrStyle.nullable(),
  })
  .meta({ id: "Branding" });

/** The image as a `data:` URL, which needs no request. */
export const toLogoUrl = (logo: Buffer): string =>
  `data:image/webp;base64,${logo.toString("base64")}`;

export const toBrandingResponse = ({
  name,
  color,
  logo,
  qrStyle,
}: Branding): z.output<typeof brandingResponse> => ({
  name,
  color,
  logo: logo === null ? null : toLogoUrl(logo),
  qr_style: qrStyle,
});
