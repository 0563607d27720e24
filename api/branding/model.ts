/** How an account presents itself on the pages of its shared statistics. */
import * as z from "zod";

import { type QrStyle, qrStyleFields } from "../../shared/contracts/qr-style.ts";
import {
  brandColorMeta,
  brandNameMeta,
  type changeBrandingBody,
  qrStyleMeta,
} from "../../shared/contracts/share-schemas.ts";

export type ChangeBrandingBody = z.output<typeof changeBrandingBody>;

export type Brand = {
  name: string | null;
  /** As chosen, `#rrggbb`. */
  color: string | null;
  /** A WebP image. */
  logo: Buffer | null;
};

/** The part of the branding that QR codes have. */
export type QrBranding = {
  /** How QR codes look unless a request says otherwise. */
  qrStyle: QrStyle | null;
  logo: Buffer | null;
};

export type Branding = Brand & QrBranding;

/** The branding of an account that has chosen none. */
export const NO_BRANDING: Branding = { name: null, color: null, logo: null, qrStyle: null };

const savedQrStyle = z
  .object(qrStyleFields)
  .meta({ id: "QrStyle", description: "How QR codes look." });

export const brandingResponse = z
  .object({
    name: z.string().nullable().meta(brandNameMeta),
    color: z.string().nullable().meta(brandColorMeta),
    logo: z
      .string()
      .nullable()
      .meta({
        description: "The logo as a `data:` URL of a WebP image; null for none.",
        examples: ["data:image/webp;base64,UklGRiQA…"],
      }),
    qr_style: savedQrStyle.nullable().meta(qrStyleMeta),
  })
  .meta({
    id: "Branding",
    description:
      "How the account presents itself to readers of shared statistics, and how its QR codes look.",
  });

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
