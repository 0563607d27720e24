/**
 * The baseline of the API benchmark: the same framework, schemas and query for the link, without
 * authentication, scopes and limits.
 */
import { Elysia } from "elysia";
import * as z from "zod";

import { fullLink, toFullLink } from "../api/links/responses.ts";
import { findLink } from "../api/links/sql.ts";
import { postgresPool } from "../api/postgres.ts";
import { decodeId } from "../shared/ids.ts";

const sql = postgresPool(process.env["DATABASE_URL"] ?? "", 20);
const accountId = decodeId("acct", process.env["ACCOUNT"] ?? "") ?? "";

const app = new Elysia({ normalize: false }).get(
  "/v1/links/:id",
  async ({ params }) => {
    const id = decodeId("link", params.id) ?? "";
    const row = await findLink(sql, { accountId, mode: "live" }, id);
    if (row === undefined) throw new Error("The link is missing.");
    return toFullLink(row, "http://localhost");
  },
  { params: z.object({ id: z.string() }), response: { 200: fullLink } },
);
app.listen({ hostname: "127.0.0.1", port: 0, development: false });
console.log(`listening on ${app.server?.port}`);
