/** Requests about shared statistics, and about the branding of their pages. */
import * as z from "zod";

import { LOGO } from "./examples.ts";
import { toAsciiHost } from "./host-names.ts";
import { DEFAULT_QR_STYLE, hexColor, qrStyle } from "./qr-style.ts";
import { plainText } from "./text-schemas.ts";
import { preparePassword, trimInvisible } from "./text.ts";

const NAME_LENGTH_MAX = 255;

/** Each breakdown is a query. */
export const BREAKDOWNS_MAX = 8;

/** An origin is a host of 253 characters at most, with its scheme and port. */
const ORIGIN_LENGTH_MAX = 270;

export const PASSWORD_LENGTH = { min: 8, max: 128 };

/** Only characters that cannot end a directive of a Content-Security-Policy. */
const ORIGIN = /^https?:\/\/(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;

/** The scheme and the host of an origin, which may be an internationalized one. */
const HOST = /^(https?:\/\/)([^/?#]+)$/i;

export const shareName = plainText(NAME_LENGTH_MAX);

/** A site that may embed a share's page. */
export const shareOrigin = z
  .string()
  .max(ORIGIN_LENGTH_MAX)
  .overwrite((text) =>
    trimInvisible(text).replace(
      HOST,
      (_, scheme: string, host: string) => scheme + toAsciiHost(host),
    ),
  )
  .refine(
    (text) => ORIGIN.test(text) && URL.parse(text)?.origin === text,
    "must be an origin such as https://www.example.com, without a path",
  );

export const sharePassword = z
  .string()
  .max(PASSWORD_LENGTH.max, { abort: true })
  .overwrite(preparePassword)
  .min(PASSWORD_LENGTH.min);

/** The breakdowns of a share; the API checks their names. */
export const shareBreakdowns = z.array(z.string()).max(BREAKDOWNS_MAX);

const BRAND_NAME_LENGTH_MAX = 100;

/** Maximum bytes of an uploaded logo. */
export const LOGO_BYTES_MAX = 512 * 1024;

/** Four characters encode three bytes. */
const LOGO_LENGTH_MAX = Math.ceil(LOGO_BYTES_MAX / 3) * 4;

export const brandName = plainText(BRAND_NAME_LENGTH_MAX).min(1);

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
