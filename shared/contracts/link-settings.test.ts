/** Goal: the arms of a split have labels that people can tell apart. */
import { expect, test } from "bun:test";

import { LABEL_LENGTH_MAX, splitField } from "./link-settings.ts";

const url = "https://example.com/";

const labelsOf = (...labels: unknown[]): unknown[] | undefined => {
  const arms = labels.map((label) => ({ label, url, weight: 1 }));
  return splitField.safeParse({ arms }).data?.arms.map(({ label }) => label);
};

const LONGEST = "é".repeat(LABEL_LENGTH_MAX);

test.each<[string, unknown[], unknown[] | undefined]>([
  ["none", [undefined, null], [undefined, null]],
  ["some", ["New page", "Old page"], ["New page", "Old page"]],
  ["in letters of other scripts", ["新しい", "חדש"], ["新しい", "חדש"]],
  ["composed of what was decomposed", ["Cafe\u0301"], ["Caf\u00e9"]],
  ["without what nobody sees at the ends", [" New\u200b "], ["New"]],
  ["of the longest kind", [LONGEST], [LONGEST]],
  ["of which two are alike", ["New", "New"], undefined],
  ["that differ only in what nobody sees", ["Caf\u00e9", "Cafe\u0301 "], undefined],
  ["of blanks", [" \u200b"], undefined],
  ["with a line break", ["a\nb"], undefined],
  ["that are too long", [`${LONGEST}é`], undefined],
  ["that is no text", [1], undefined],
])("labels %s", (_, labels, read) => expect(labelsOf(...labels)).toEqual(read));
