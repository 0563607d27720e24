/** Rules for how an account presents itself, shared by the API and the dashboard's form. */
import * as z from "zod";

import { hexColor } from "./colors.ts";
import { LOGO } from "./examples.ts";
import { DEFAULT_QR_STYLE, qrStyle } from "./qr-style.ts";
import { plainText } from "./text.ts";

const NAME_LENGTH_MAX = 100;

/** Maximum bytes of an uploaded logo. */
export const LOGO_BYTES_MAX = 512 * 1024;

/** Four characters encode three bytes. */
const LOGO_LENGTH_MAX = Math.ceil(LOGO_BYTES_MAX / 3) * 4;

export const brandName = plainText(NAME_LENGTH_MAX).min(1);

/** Descriptions of fields that requests and responses have. */
export const brandNameMeta = {
  description: "The name above the statistics; null for none.",
  examples: ["Acme"],
};

export const brandColorMeta = {
  description: "The colour of chart, map and links, as `#rrggbb`; null for that of the dashboard.",
  examples: ["#1d4ed8"],
};

export const qrStyleMeta = {
  description:
    "How QR codes look where a request does not say otherwise; null for black squares on white.",
  examples: [{ ...DEFAULT_QR_STYLE, foreground: "#1d4ed8", shape: "rounded" }],
};

export const changeBrandingBody = z
  .strictObject({
    name: brandName.nullish().meta(brandNameMeta),
    color: hexColor.nullish().meta(brandColorMeta),
    logo: z
      .base64("must be an image in Base64")
      .min(1)
      .max(LOGO_LENGTH_MAX)
      .nullish()
      .meta({
        description: "A PNG, JPEG or WebP image in Base64, of up to 512 KiB; null for none.",
        examples: [LOGO],
      }),
    qr_style: qrStyle
      .meta({
        id: "QrStyleChange",
        description: "How QR codes are to look. Omitted fields have their defaults.",
      })
      .nullish()
      .meta(qrStyleMeta),
  })
  .meta({
    id: "BrandingChange",
    description:
      "The fields of the branding to change. Omitted fields keep their value; null removes a value.",
    examples: [{ name: "Acme", color: "#1d4ed8" }],
  });
