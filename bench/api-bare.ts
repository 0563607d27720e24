/**
 * What the API is compared with: the same framework and schemas and one bare query, without keys,
 * scopes, limits or ids of its own.
 */
import { Elysia } from "elysia";
import * as z from "zod";

import { fullLink, type LinkRow, toFullLink } from "../api/links/model.ts";
import { openPostgres } from "../api/postgres.ts";
import { decodeId } from "../shared/ids.ts";

const sql = openPostgres(process.env["DATABASE_URL"] ?? "", 20);

const app = new Elysia({ normalize: false }).get(
  "/v1/links/:id",
  async ({ params }) => {
    const [row] = await sql<LinkRow[]>`
      select link.id, link.account_id, link.mode, domain.host as domain_host, link.alias,
             link.original_url, link.target_url, link.title, link.password_hash, link.expires_at,
             link.utm_source, link.utm_medium, link.utm_campaign, link.utm_term, link.utm_content,
             link.forward_query, link.version::float8 as version, link.created_at, link.updated_at,
             counters.clicks::float8 as clicks, counters.unique_clicks::float8 as unique_clicks
        from links link
        join link_counters counters on counters.link_id = link.id
        left join domains domain on domain.id = link.domain_id
       where link.id = ${decodeId("link", params.id) ?? ""}`;
    if (row === undefined) throw new Error("The link is missing.");
    return toFullLink(row, "http://localhost");
  },
  { params: z.object({ id: z.string() }), response: { 200: fullLink } },
);
app.listen({ hostname: "127.0.0.1", port: 0, development: false });
console.log(`listening on ${app.server?.port}`);
