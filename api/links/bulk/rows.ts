/** Reads the rows of a request for many links; an invalid row fails on its own. */
import { newLinkBody } from "../../../shared/contracts/link-schemas.ts";
import { decodeId, type Uuid } from "../../../shared/ids.ts";
import { invalidField, notFound } from "../../http/errors.ts";
import { validateValue } from "../../http/validation.ts";
import type { Update } from "../change-links.ts";
import type { Creation } from "../create-links.ts";
import { type Failure, toFailure } from "../results.ts";
import { bulkChange } from "./model.ts";

/** Links to create. Their ids derive from `firstId`, so that a retry finds the same links. */
export const readCreations = (firstId: Uuid, rows: readonly unknown[]): (Creation | Failure)[] =>
  readRows(rows, (row, index) => ({
    id: nthId(firstId, index),
    body: validateValue(newLinkBody, row),
  }));

/** Links to update. Of several updates of one link, the first wins. */
export function readUpdates(rows: readonly unknown[]): (Update | Failure)[] {
  const seen = new Set<Uuid>();
  return readRows(rows, (row) => {
    const { id, ...body } = validateValue(bulkChange, row);
    return { id: requireOnce(seen, id), body };
  });
}

/** Links to delete, by their ids; each once. */
export function readDeletions(ids: readonly string[]): ({ id: Uuid } | Failure)[] {
  const seen = new Set<Uuid>();
  return readRows(ids, (id) => ({ id: requireOnce(seen, id) }));
}

const readRows = <Row, Read>(
  rows: readonly Row[],
  read: (row: Row, index: number) => Read,
): (Read | Failure)[] =>
  rows.map((row, index) => {
    try {
      return read(row, index);
    } catch (error) {
      return toFailure(error);
    }
  });

/** Decodes an id; throws `not_found`, and `invalid_request` when an earlier row has the same id. */
function requireOnce(seen: Set<Uuid>, text: string): Uuid {
  const id = decodeId("link", text);
  if (id === undefined) throw notFound("link");
  if (seen.has(id)) throw invalidField("id", "must not name a link twice");
  seen.add(id);
  return id;
}

/** The `n`th id after `first`: adds `n` to its last 48 bits, which are random. */
export function nthId(first: Uuid, n: number): Uuid {
  const last = (BigInt(`0x${first.slice(-12)}`) + BigInt(n)) & 0xffff_ffff_ffffn;
  return first.slice(0, -12) + last.toString(16).padStart(12, "0");
}
