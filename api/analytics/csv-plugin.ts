/** Responds with CSV to clients that prefer it. */
import { Elysia } from "elysia";

import { noted } from "../auth/access-rules.ts";
import { addVary } from "../http/vary.ts";
import { csvBeginning, type Table, toCsv } from "./csv.ts";

/**
 * Adds the route option `csv`, which converts a response to a table for clients that prefer CSV.
 */
export const csvPlugin = new Elysia({ name: "csv" }).macro({
  csv: (convert: (body: unknown) => Table) => ({
    detail: noted({ "x-csv": true }),
    async mapResponse({ responseValue, request, set }) {
      addVary(set.headers, "Accept");
      // Errors are always JSON.
      const beginning = csvBeginning(request.headers.get("accept"));
      if (Number(set.status ?? 200) !== 200 || beginning === undefined) return undefined;
      set.headers["content-type"] = "text/csv; charset=utf-8";
      return new Response(beginning + (await toCsv(convert(responseValue))));
    },
  }),
});
