/** Making many links with one request, each on its own: what fails with one does not touch the others. */
import * as z from "zod";

import { createLinkBody } from "../../shared/contracts/link-bodies.ts";
import type { Uuid } from "../../shared/ids.ts";
import { ApiError, ERROR_CODES } from "../http/errors.ts";
import { createdLink, type LinkRow } from "./model.ts";
import type { LinkService } from "./service.ts";
import type { Owner } from "./sql.ts";

const LINKS_MAX = 100;

/** Links that are made at a time. */
const CONCURRENT_MAX = 8;

export const bulkLinksBody = z
  .strictObject({ links: z.array(createLinkBody).min(1).max(LINKS_MAX) })
  .meta({ id: "NewLinks" });

type BulkLinksBody = z.output<typeof bulkLinksBody>;

const failed = z.object({ code: z.enum(ERROR_CODES), message: z.string() });

export const bulkLinksAnswer = z
  .object({
    data: z
      .array(
        z.union([
          z.object({ index: z.int(), link: createdLink }),
          z.object({ index: z.int(), error: failed }),
        ]),
      )
      .meta({ description: "One entry a link, in the order of the request." }),
    created: z.int(),
    failed: z.int(),
  })
  .meta({ id: "BulkLinks" });

type BulkLinksAnswer = z.output<typeof bulkLinksAnswer>;

/** Makes the links, a few at a time; ids follow from `firstId`, so that a repeat makes the same ones. */
export async function createLinks(
  links: Pick<LinkService, "create">,
  owner: Owner,
  firstId: Uuid,
  { links: bodies }: BulkLinksBody,
  describe: (row: LinkRow) => z.output<typeof createdLink>,
): Promise<{ answer: BulkLinksAnswer; propagated: boolean }> {
  let propagated = true;

  async function createOne(index: number): Promise<BulkLinksAnswer["data"][number]> {
    const body = bodies[index];
    if (body === undefined) throw new RangeError(`There is no link ${index}.`);
    try {
      const written = await links.create(owner, nthId(firstId, index), body);
      propagated &&= written.propagated;
      return { index, link: describe(written.link) };
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error;
      return { index, error: { code: error.reason, message: error.message } };
    }
  }

  const data: BulkLinksAnswer["data"] = [];
  for (let start = 0; start < bodies.length; start += CONCURRENT_MAX) {
    const indexes = bodies.slice(start, start + CONCURRENT_MAX).map((_, i) => start + i);
    data.push(...(await Promise.all(indexes.map(createOne))));
  }
  const created = data.filter((entry) => "link" in entry).length;
  return { answer: { data, created, failed: data.length - created }, propagated };
}

/** The id `n` after another one: its last 48 bits, which are random, counted up. */
export function nthId(first: Uuid, n: number): Uuid {
  const last = (BigInt(`0x${first.slice(-12)}`) + BigInt(n)) & 0xffff_ffff_ffffn;
  return first.slice(0, -12) + last.toString(16).padStart(12, "0");
}
