import { expect, test } from "bun:test";

import { findMisdelivered, type LedgerEvent } from "./webhook-receiver.ts";

const eventOf = (id: string, link: string): LedgerEvent => ({
  id,
  type: "link.updated",
  data: { link: { id: link } },
});

const LEDGER = [eventOf("1", "a"), eventOf("2", "b"), eventOf("3", "a")];

test.each([
  [["1", "2", "3"], []],
  // Different links have no order, and what is repeated was there before.
  [["2", "1", "3", "1", "2"], []],
  [["1", "3"], ["missing: 2"]],
  [["3", "2", "1"], ["late: 1"]],
  [["1", "2", "3", "4"], ["unknown: 4"]],
])("of what was accepted (case %#), it finds what is wrong", (accepted, wrong) => {
  expect(findMisdelivered(LEDGER, accepted)).toEqual(wrong);
});
