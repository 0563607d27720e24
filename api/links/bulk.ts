/** Bulk creation: one request creates many links, each independent of the others' failures. */
import pLimit from "p-limit";
import * as z from "zod";

import {
  BULK_LINKS_MAX,
  BULK_PASSWORDS_MAX,
  createLinkBody,
} from "../../shared/contracts/link-schemas.ts";
import type { Uuid } from "../../shared/ids.ts";
import { ApiError, ERROR_CODES } from "../http/errors.ts";
import type { AccountScope } from "../http/principal.ts";
import { createdLink, type LinkRow } from "./model.ts";
import type { LinkService } from "./service.ts";

/** Links that one request creates concurrently. */
const CONCURRENT_MAX = 8;

export const bulkLinksBody = z
  .strictObject({
    links: z
      .array(createLinkBody)
      .min(1)
      .max(BULK_LINKS_MAX)
      .refine(
        (links) =>
          links.filter(({ password }) => typeof password === "string").length <= BULK_PASSWORDS_MAX,
        `at most ${BULK_PASSWORDS_MAX} links with a password at once`,
      )
      .meta({ description: `At most ${BULK_PASSWORDS_MAX} of them with a password.` }),
  })
  .meta({ id: "NewLinks" });

type BulkLinksBody = z.output<typeof bulkLinksBody>;

const linkError = z.object({ code: z.enum(ERROR_CODES), message: z.string() });

export const bulkLinksResponse = z
  .object({
    data: z
      .array(
        z.union([
          z.object({ index: z.int(), link: createdLink }),
          z.object({ index: z.int(), error: linkError }),
        ]),
      )
      .meta({ description: "One entry per link, in the order of the request." }),
    created: z.int(),
    failed: z.int(),
  })
  .meta({ id: "BulkLinks" });

type BulkLinksResponse = z.output<typeof bulkLinksResponse>;

/**
 * Creates the links, at most {@link CONCURRENT_MAX} concurrently. Their ids derive from `firstId`, so a
 * retry creates the same links. Each created link consumes one from the daily quota; links beyond the
 * quota fail with `rate_limited` in their own entries. Throws `rate_limited` when the quota was exhausted
 * and no link was created.
 */
export async function createLinks(
  links: Pick<LinkService, "create">,
  owner: AccountScope,
  firstId: Uuid,
  { links: bodies }: BulkLinksBody,
  toResponse: (row: LinkRow) => z.output<typeof createdLink>,
): Promise<{ response: BulkLinksResponse; propagated: boolean }> {
  let propagated = true;
  let quotaError: ApiError | undefined;

  async function createOne(
    body: BulkLinksBody["links"][number],
    index: number,
  ): Promise<BulkLinksResponse["data"][number]> {
    try {
      // Once the quota is exhausted, skips the costly work (such as hashing a password) for the rest.
      if (quotaError !== undefined) throw quotaError;
      const result = await links.create(owner, nthId(firstId, index), body);
      propagated &&= result.propagated;
      return { index, link: toResponse(result.link) };
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error;
      if (error.reason === "rate_limited") quotaError = error;
      return { index, error: { code: error.reason, message: error.message } };
    }
  }

  const limit = pLimit(CONCURRENT_MAX);
  const data = await Promise.all(bodies.map((body, index) => limit(createOne, body, index))).catch(
    (error: unknown) => {
      // A server error fails the whole request: links that have not started are not created.
      limit.clearQueue();
      throw error;
    },
  );
  const created = data.filter((entry) => "link" in entry).length;
  if (created === 0 && quotaError !== undefined) throw quotaError;
  return { response: { data, created, failed: data.length - created }, propagated };
}

/** The `n`th id after `first`: its last 48 bits, which are random, plus `n`. */
export function nthId(first: Uuid, n: number): Uuid {
  const last = (BigInt(`0x${first.slice(-12)}`) + BigInt(n)) & 0xffff_ffff_ffffn;
  return first.slice(0, -12) + last.toString(16).padStart(12, "0");
}
