/** Reads short URLs and titles of links, which ClickHouse does not store. */
import * as z from "zod";

import { SHORT_URL } from "../../shared/contracts/examples.ts";
import { decodeId, encodeId } from "../../shared/ids.ts";
import type { ClicksReader } from "../clickhouse.ts";
import type { Principal } from "../http/principal.ts";
import type { LinkService } from "../links/service.ts";

/** Both are null for a deleted link, and for callers who may not read links. */
export const linkName = z
  .object({
    short_url: z
      .string()
      .nullable()
      .meta({
        description: "The short URL; null for a deleted link, and without the scope `links:read`.",
        examples: [SHORT_URL],
      }),
    title: z
      .string()
      .nullable()
      .meta({
        description:
          "The title; null for none, for a deleted link, and without the scope `links:read`.",
        examples: ["Spring sale"],
      }),
  })
  .meta({
    id: "LinkName",
    description:
      "The link's current short URL and title. Both are null for a deleted link, and for a key without the scope `links:read`.",
  });

type LinkName = z.output<typeof linkName>;

/** The caller; link names need the scope `links:read`. */
export type Reader = Pick<Principal, "accountId" | "mode" | "scopes"> & ClicksReader;

const NO_NAME: LinkName = { short_url: null, title: null };

/** Reads the names of the links with these ids, in one statement. */
export async function readLinkNames(
  links: Pick<LinkService, "getNames">,
  reader: Reader,
  ids: readonly string[],
): Promise<(id: string) => LinkName> {
  if (ids.length === 0 || !reader.scopes.includes("links:read")) return () => NO_NAME;
  const uuids = ids.flatMap((id) => decodeId("link", id) ?? []);
  const found = await links.getNames(reader, uuids);
  const names = new Map([...found].map(([uuid, name]) => [encodeId("link", uuid), name]));
  return (id) => names.get(id) ?? NO_NAME;
}
