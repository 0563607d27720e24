/**
 * Rebrandly as a source: `GET /v1/links` of its API, as developers.rebrandly.com describes it
 * (docs/list-links, docs/link-entity). It has no visits, only their number.
 */
import * as z from "zod";

import { HttpSource, instant, text } from "./http-source.ts";
import { type Cursor, type Page, Source, type SourceLink } from "./source.ts";

const REBRANDLY_API = new URL("https://api.rebrandly.com");

/** Rows of a page: the most that Rebrandly returns. */
const LINKS_MAX = 25;

/** Maximum tags of a link that are read. */
const TAGS_MAX = 1_000;

const WORKSPACE = /^\w{1,64}$/;

const PATH = "/v1/links";

const linksPage = z
  .array(
    z.object({
      id: text,
      title: text.nullish(),
      slashtag: text,
      destination: text,
      domain: z.object({ fullName: text }),
      createdAt: instant,
      clicks: z.int().nullish(),
      forwardParameters: z.boolean().nullish(),
      tags: z
        .array(z.object({ name: text }))
        .max(TAGS_MAX)
        .nullish(),
    }),
  )
  .max(LINKS_MAX);

export class Rebrandly extends Source {
  readonly #http: HttpSource;

  constructor(http: HttpSource) {
    super();
    this.#http = http;
  }

  static open(workspace: string, key: string): Rebrandly {
    return new Rebrandly(new HttpSource("Rebrandly", REBRANDLY_API, { apikey: key, workspace }));
  }

  static identify(workspace: string): string {
    if (!WORKSPACE.test(workspace)) throw new Error("It must be the id of a workspace.");
    return workspace;
  }

  async links(after: Cursor | null, signal: AbortSignal): Promise<Page<SourceLink>> {
    const last = String(after?.["last"] ?? "");
    const query = {
      orderBy: "createdAt",
      orderDir: "asc",
      limit: LINKS_MAX,
      last: last === "" ? undefined : last,
    };
    const rows = await this.#http.get(PATH, query, linksPage, signal);
    const next = rows.length < LINKS_MAX ? null : (rows.at(-1)?.id ?? null);
    this.#http.requireNew(PATH, last, rows[0]?.id, next);
    const links = rows.map((row): SourceLink => ({
      id: row.id,
      domain: row.domain.fullName,
      alias: row.slashtag,
      url: row.destination,
      ...(typeof row.title === "string" ? { title: row.title } : {}),
      tags: (row.tags ?? []).map(({ name }) => name),
      createdAt: row.createdAt,
      settings:
        typeof row.forwardParameters === "boolean" ? { forward_query: row.forwardParameters } : {},
      ...((row.clicks ?? 0) === 0
        ? {}
        : { left: [`${row.clicks} clicks, whose days are not known`] }),
    }));
    return { rows: links, next: next === null ? null : { last: next } };
  }
}
