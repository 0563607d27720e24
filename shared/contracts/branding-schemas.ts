/** Rules for how an account presents itself, shared by the API and the dashboard's form. */
import * as z from "zod";

import { hexColor } from "./colors.ts";
import { qrStyle } from "./qr-style.ts";
import { plainText } from "./text.ts";

const NAME_LENGTH_MAX = 100;

/** Maximum bytes of an uploaded logo. */
export const LOGO_BYTES_MAX = 512 * 1024;

/** Four characters encode three bytes. */
const LOGO_LENGTH_MAX = Math.ceil(LOGO_BYTES_MAX / 3) * 4;

export const brandName = plainText(NAME_LENGTH_MAX).min(1);

export const changeBrandingBody = z.strictObject({
  name: brandName.nullish(),
  color: hexColor.nullish(),
  logo: z.base64("must be an image in Base64").min(1).max(LOGO_LENGTH_MAX).nullish(),
  qr_style: qrStyle.meta({ id: "QrStyleChange" }).nullish(),
});
