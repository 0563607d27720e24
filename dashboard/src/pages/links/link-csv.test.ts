import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import type { Link, NewLink } from "../../../../clients/typescript/src/index.ts";
import { newLinkBody } from "../../../../shared/contracts/link-schemas.ts";
import { suggestMapping } from "../../../../shared/link-csv/services.ts";
import { fullLink } from "../../../../test/harness/full-link.ts";
import { type CsvRow, printCsv, toCsvRow } from "../../data/csv.ts";
import { type ImportItem, parseImportFile, Planner } from "./import/plan.ts";
import { suggestOptions } from "./import/use-import.ts";

/** A link as a list returns it that was created with these fields. */
function listed({ url, ...fields }: NewLink, hasPassword = false): Link {
  // A response has the settings that a request set, as far as they are on.
  return { ...fullLink({ original_url: url, has_password: hasPassword }), ...fields } as Link;
}

const HOSTS = { own: "sho.rt", domains: new Set(["go.example.com"]) };

/** Writes rows to a file and reads it as an import does. */
function writeAndRead(rows: readonly CsvRow[]): ImportItem[] {
  const file = parseImportFile("links.csv", new TextEncoder().encode(printCsv(rows)));
  if ("problem" in file) throw new Error(file.problem);
  expect(file.service?.name).toBe("Shorthop");
  const mapping = suggestMapping(file.columns, file.service);
  const options = suggestOptions(file, mapping, HOSTS);
  const now = Date.parse("2026-01-01T00:00:00Z");
  const planner = new Planner({ ...file, mapping, options, hosts: HOSTS, now });
  return file.rows.flatMap((row, index) => planner.plan(row, index));
}

const exportAndRead = (links: readonly Link[]) => writeAndRead(links.map(toCsvRow));

const FULL: NewLink = {
  url: 'https://example.com/?a=1,2&b="c"',
  alias: "spring",
  domain: "go.example.com",
  title: "Spring, sale",
  notes: '=1+1 is, "two"\nlines 👩‍👧',
  tags: ["a", "b"],
  external_id: "order-1",
  starts_at: "2029-01-01T00:00:00.000Z",
  expires_at: "2030-01-01T00:00:00.000Z",
  expired_url: "https://example.com/over",
  disabled: true,
  archived: true,
  max_clicks: 100,
  limit_counts: "human",
  confirm: true,
  rules: [
    {
      id: "rule_01k9z3v6x7e8w9r0t1y2n3h4m5",
      url: "https://example.com/de",
      conditions: [
        { type: "country", in: ["DE", "AT"], not: true },
        { type: "query", name: "a;b", in: ['"', ","] },
      ],
    },
  ],
  split: {
    arms: [{ id: "arm_01k9z3v6x7e8w9r0t1y2n3h4m5", url: "https://example.com/b", weight: 30 }],
    until: null,
  },
  preview: { title: "Card", description: null, image: "https://example.com/card.png" },
  forward_path: "append",
  redirect_status: 308,
  forward_query: true,
  utm_source: "s",
  utm_medium: "m",
  utm_campaign: "c",
  utm_term: "t",
  utm_content: "o",
};

/** Text that an API accepts, with what spreadsheets and CSV find special. */
const text = fc
  .string({
    unit: fc.constantFrom(...Array.from("aB1 ='\"+-@,;|[]{}\\＝ü%#")),
    minLength: 1,
    maxLength: 12,
  })
  .filter((value) => value.trim() === value);

describe("links that are exported and imported again", () => {
  test("have every setting that creates a link, but their password", () => {
    const { password: _, ...settable } = newLinkBody.shape;
    expect(Object.keys(FULL).toSorted()).toEqual(Object.keys(settable).toSorted());
    expect(exportAndRead([listed(FULL)])).toEqual([
      { index: 0, row: 2, link: FULL, notes: ["archived", "disabled"] },
    ]);
  });

  test("are the same links, whatever text they hold", () => {
    const link = fc.record(
      {
        url: fc.constant("https://example.com/"),
        alias: fc.constant("a"),
        title: text,
        external_id: text,
        tags: fc.uniqueArray(text, { minLength: 1, maxLength: 4 }),
        utm_source: text,
        preview: fc.record({ title: text, description: text, image: fc.constant(null) }),
      },
      { requiredKeys: ["url", "alias"] },
    );
    fc.assert(
      fc.property(fc.array(link, { minLength: 1, maxLength: 5 }), (links) => {
        const read = exportAndRead(links.map((one) => listed(one)));
        expect(read.map(({ link }) => link)).toEqual(links);
      }),
    );
  });

  test("are not opened without the password that they had", () => {
    const row = toCsvRow(listed({ url: "https://example.com/" }, true));
    const [locked] = writeAndRead([row]);
    expect(locked?.problem?.kind).toBe("missing_password");
    const [given] = writeAndRead([{ ...row, has_password: "TRUE", password: "secret" }]);
    expect(given?.link).toEqual({ url: "https://example.com/", alias: "a", password: "secret" });
    expect(given?.problem).toBeUndefined();
  });

  test("are reported, with the column, where somebody wrote nonsense", () => {
    for (const [column, value, message] of [
      ["rules", "[{", "Rules"],
      ["max_clicks", "many", "Click limit"],
      ["disabled", "constructor", "“constructor”"],
      ["expires_at", "soon", "“soon”"],
      ["limit_counts", "cats", "What consumes a click"],
    ] as const) {
      const [item] = writeAndRead([{ ...toCsvRow(listed(FULL)), [column]: value }]);
      expect(item?.problem?.message).toStartWith(message);
    }
  });
});
