/** Routes of `/v1/branding`. */
import { Elysia } from "elysia";

import { changeBrandingBody } from "../../shared/contracts/share-schemas.ts";
import { principalOf } from "../http/request-context.ts";
import type { AccessPlugin } from "../site.ts";
import { brandingResponse, type BrandingService, toBrandingResponse } from "./service.ts";

export const brandingRoutes = (auth: AccessPlugin, branding: BrandingService) =>
  new Elysia({ name: "branding", prefix: "/v1/branding", tags: ["Branding"] })
    .use(auth)
    .get("", async ({ call }) => toBrandingResponse(await branding.find(principalOf(call))), {
      access: "shares:read",
      response: { 200: brandingResponse },
      detail: {
        operationId: "getBranding",
        summary: "Get the branding",
        description:
          "What readers of shared statistics see of the account, and how its QR codes look: nothing by default.",
      },
    })
    .patch(
      "",
      async ({ call, body }) => toBrandingResponse(await branding.change(principalOf(call), body)),
      {
        access: "shares:write",
        body: changeBrandingBody,
        response: { 200: brandingResponse },
        detail: {
          operationId: "updateBranding",
          summary: "Change the branding",
          description:
            "Changes the fields that the body has; null removes one. It applies to all shared statistics of the mode, from the next request on. A logo is a PNG, JPEG or WebP image of up to 512 KiB and 4 million pixels; it is scaled to 480 × 112 pixels and encoded as WebP. Pages darken the colour on light backgrounds, and lighten it on dark ones, as far as text needs it to be readable. `qr_style` is how QR codes of the mode look where a request does not say otherwise.",
        },
      },
    );
