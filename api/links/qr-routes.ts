/** The route of QR codes of links. */
import { Elysia } from "elysia";

import { QR_MARK } from "../../shared/contracts/analytics.ts";
import { decodeId } from "../../shared/ids.ts";
import type { BrandingService } from "../branding/service.ts";
import { principalOf } from "../http/request-context.ts";
import type { AccessPlugin } from "../site.ts";
import { linkParams } from "./model.ts";
import { drawQr } from "./qr/draw.ts";
import { qrQuery, toQrRequest, wantsLogo } from "./qr/model.ts";
import type { LinkService } from "./service.ts";
import { buildShortUrl } from "./short-url.ts";

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
        links.get(owner, decodeId("link", params.id)),
        branding.findForQr(owner, wantsLogo(query)),
      ]);
      const qrRequest = toQrRequest(query, brand);
      const content = `${buildShortUrl(link, shortUrl)}?${QR_MARK}`;
      const { type, image } = await drawQr(owner, content, qrRequest);
      set.headers["content-type"] = type;
      return new Response(image);
    },
    {
      access: { scope: "links:read", limit: null, cost: 1, expensive: true },
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
