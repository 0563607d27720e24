/** The settings of a link that the dashboard's forms edit and /v1 does not return. */
import { Elysia } from "elysia";
import * as z from "zod";

import { decodeId } from "../../shared/ids.ts";
import type { AuthPlugin } from "../auth/plugin.ts";
import { idParams } from "../http/common-schemas.ts";
import { principalOf } from "../http/request-context.ts";
import type { LinkService } from "../links/service.ts";

const linkSettings = z.object({
  forward_query: z.boolean(),
  has_password: z.boolean(),
  utm_source: z.string().nullable(),
  utm_medium: z.string().nullable(),
  utm_campaign: z.string().nullable(),
  utm_term: z.string().nullable(),
  utm_content: z.string().nullable(),
});

type LinkSettingsDeps = { auth: AuthPlugin; links: Pick<LinkService, "get"> };

export const linkSettingsRoutes = ({ auth, links }: LinkSettingsDeps) =>
  new Elysia({ name: "link-settings", prefix: "/link-settings" }).use(auth).get(
    "/:id",
    async ({ call, params }) => {
      const row = await links.get(principalOf(call), decodeId("link", params.id));
      return linkSettings.parse({ ...row, has_password: row.password_hash !== null });
    },
    {
      access: { scope: "links:read", limit: null, cost: 1 },
      params: idParams,
      response: { 200: linkSettings },
    },
  );
