/** The route of the QR code of a link. */
import { Elysia } from "elysia";
import * as z from "zod";

import { QR_MARK } from "../../../shared/contracts/analytics.ts";
import {
  DEFAULT_QR_STYLE,
  findContrastProblem,
  MARGIN_MAX,
  qrStyleFields,
} from "../../../shared/contracts/qr-style.ts";
import type { BrandingService, QrBranding } from "../../branding/service.ts";
import { choice, wholeNumber } from "../../http/common-schemas.ts";
import { invalidField } from "../../http/errors.ts";
import { principalOf } from "../../http/request-context.ts";
import type { AccessPlugin } from "../../site.ts";
import { linkParams } from "../model.ts";
import type { LinkService } from "../service.ts";
import { buildShortUrl } from "../short-url.ts";
import { drawQr, type QrRequest } from "./draw.ts";

// The query, which the account's style completes.

const DEFAULT_TEXT = "Default of an account without a style";

const color = (fallback: string, what: string) =>
  z
    .string()
    .regex(/^#?[0-9a-fA-F]{6}$/, "must be a colour such as 1d4ed8 or #1d4ed8")
    .optional()
    .meta({
      description: `Colour ${what} the code, with or without \`#\`. ${DEFAULT_TEXT}: \`${fallback}\`.`,
      examples: [fallback],
      maxLength: 7,
    });

const qrQuery = z.object({
  format: z
    .enum(["svg", "png", "pdf"])
    .default("svg")
    .meta({ description: "The format of the image." }),
  size: wholeNumber(64, 2_048)
    .default(256)
    .meta({ description: "Width and height in pixels; of a PDF in points, 1/72 inch." }),
  error_correction: z.enum(["L", "M", "Q", "H"]).default("M").meta({
    description:
      "Share of the code that may be covered: about 7, 15, 25 or 30 %. With a logo it is always `H`.",
  }),
  margin: wholeNumber(0, MARGIN_MAX)
    .optional()
    .meta({
      description: `Quiet zone in modules; the standard requires 4. ${DEFAULT_TEXT}: ${DEFAULT_QR_STYLE.margin}.`,
      examples: [DEFAULT_QR_STYLE.margin],
    }),
  foreground: color(DEFAULT_QR_STYLE.foreground.slice(1), "of"),
  background: color(DEFAULT_QR_STYLE.background.slice(1), "behind"),
  shape: qrStyleFields.shape
    .meta({ description: `Shape of the modules. ${DEFAULT_TEXT}: \`${DEFAULT_QR_STYLE.shape}\`.` })
    .optional(),
  eyes: qrStyleFields.eyes
    .meta({
      description: `Shape of the three finder patterns. ${DEFAULT_TEXT}: \`${DEFAULT_QR_STYLE.eyes}\`.`,
    })
    .optional(),
  logo: choice(
    `Whether the account's logo is in the centre. ${DEFAULT_TEXT}: \`${DEFAULT_QR_STYLE.logo}\`.`,
    ["true", "false"],
  ).optional(),
});

type QrQuery = z.output<typeof qrQuery>;

const toColor = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : `#${text.replace("#", "").toLowerCase()}`;

/** Whether a request wants the logo; undefined if it leaves that to the account's style. */
const wantsLogo = ({ logo }: QrQuery): boolean | undefined =>
  logo === undefined ? undefined : logo === "true";

/**
 * Completes a request by the account's style. Throws `invalid_request` for colours that contrast
 * too little, and for a logo where the account has none. A saved style whose logo was removed is
 * drawn without it.
 */
function toQrRequest(query: QrQuery, { qrStyle, logo }: QrBranding): QrRequest {
  const { format, size, error_correction, ...named } = query;
  const saved = qrStyle ?? DEFAULT_QR_STYLE;
  const style = {
    foreground: toColor(named.foreground) ?? saved.foreground,
    background: toColor(named.background) ?? saved.background,
    shape: named.shape ?? saved.shape,
    eyes: named.eyes ?? saved.eyes,
    margin: named.margin ?? saved.margin,
  };
  const problem = findContrastProblem(style);
  if (problem !== undefined)
    throw invalidField(named.foreground === undefined ? "background" : "foreground", problem);
  if (wantsLogo(query) === true && logo === null)
    throw invalidField("logo", "must be false: the account has no logo; set one by /v1/branding");
  return {
    format,
    size,
    errorCorrection: error_correction,
    style,
    logo: logo ?? undefined,
  };
}

export const qrRoutes = (
  auth: AccessPlugin,
  links: LinkService,
  branding: BrandingService,
  shortUrl: string,
) =>
  new Elysia({ name: "qr", prefix: "/v1/links", tags: ["Links"] }).use(auth).get(
    "/:id/qr",
    async ({ call, params, query, set }) => {
      const owner = principalOf(call);
      const [link, brand] = await Promise.all([
        links.get(owner, params.id),
        branding.findForQr(owner, wantsLogo(query)),
      ]);
      const qrRequest = toQrRequest(query, brand);
      const content = `${buildShortUrl(link, shortUrl)}?${QR_MARK}`;
      const { type, image } = await drawQr(owner, content, qrRequest);
      set.headers["content-type"] = type;
      return new Response(image);
    },
    {
      access: { scope: "links:read", endpoint: null, cost: 1, expensive: true },
      params: linkParams,
      query: qrQuery,
      detail: {
        operationId: "getLinkQr",
        summary: "Get a link's QR code",
        description:
          "Returns a QR code of the short URL as SVG, PNG or PDF. It has the parameter `_qr` after the short URL, by which scans are told apart from clicks (`trigger`); redirects do not forward it. Parameters that are left out are those of the account's saved style (`qr_style` of `/v1/branding`). Colours that scanners may fail to read are rejected: the background must be lighter than the foreground, by 55 % of the luminance from black to white (symbol contrast of grade B, ISO/IEC 15415).",
      },
    },
  );
