/**
 * Goal: an export has every click once, however many links and parts it has, and stops reading with
 * its reader.
 */
import { expect, test } from "bun:test";

import type { ClickChunks, ClickHouse } from "../../shared/clicks/query.ts";
import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { inChunks } from "../../test/harness/chunks.ts";
import { longTest } from "../../test/harness/property-runs.ts";
import { exportClicks } from "./export.ts";

const WHERE = { condition: "account_id = {account_id: UUID}", params: {} };
const RANGE = { from: Date.UTC(2026, 0, 1), to: Date.UTC(2026, 1, 1) };

type Row = { link: Uuid; ms: number; journal: Uuid; idx: number };

type Broken = { failAt?: number; chunkBytes?: number };

/**
 * Answers as ClickHouse would, from rows in order; `failAt` is the number of the statement that
 * breaks off.
 */
function clickHouseWith(
  rows: readonly Row[],
  { failAt = Infinity, chunkBytes = 65_536 }: Broken = {},
) {
  const links = [...new Set(rows.map(({ link }) => link))];
  let parts = 0;
  const clickhouse: Pick<ClickHouse, "query"> & ClickChunks = {
    async query({ query_params: { after, limit } }) {
      await Promise.resolve();
      const left = typeof after === "string" ? links.slice(links.indexOf(after) + 1) : links;
      const found: unknown[] = left.slice(0, Number(limit)).map((link_id) => ({ link_id }));
      // The caller names the rows' type.
      return { json: async <Found>() => await Promise.resolve(found as Found[]) };
    },
    async chunks({ query_params: params }) {
      await Promise.resolve();
      parts++;
      const group = new Set(params["links"] as string[]);
      const ofGroup = rows.filter(({ link }) => group.has(link));
      const isLast = ({ link, journal, idx }: Row) =>
        link === params["after_link"] &&
        journal === params["after_journal"] &&
        idx === params["after_idx"];
      const start = ofGroup.findIndex(isLast) + 1;
      const part = ofGroup.slice(start, start + Number(params["rows"])).map(toLine);
      const text = parts === failAt ? "Code: 241. DB::Exception\n" : part.join("");
      return inChunks(text, chunkBytes);
    },
  };
  return { clickhouse, countParts: () => parts };
}

const toLine = ({ link, ms, journal, idx }: Row): string =>
  `${JSON.stringify({ id: `${journal}.0.${idx}`, time: new Date(ms).toISOString(), link_id: encodeId("link", link) })}\n`;

/** Clicks of many links, of which the first has most. */
function makeRows(links: number, ofFirst: number): Row[] {
  const journal = newUuid();
  return Array.from({ length: links }, () => newUuid()).flatMap((link, i) =>
    Array.from({ length: i === 0 ? ofFirst : 3 }, (_, idx) => ({
      link,
      ms: RANGE.from + idx,
      journal,
      idx,
    })),
  );
}

async function readExport(
  clickhouse: ReturnType<typeof clickHouseWith>["clickhouse"],
): Promise<string> {
  const chunks = exportClicks(clickhouse, { where: WHERE, link: undefined }, RANGE);
  return Buffer.concat(await Array.fromAsync(chunks)).toString();
}

longTest(
  "has every click once and in order, over many groups of links and several parts of one",
  async () => {
    const rows = makeRows(21_500, 120_000);
    const { clickhouse, countParts } = clickHouseWith(rows);
    expect((await readExport(clickhouse)) === rows.map(toLine).join("")).toBe(true);
    // Growing parts of the first group, and one of each other one.
    expect(countParts()).toBe(5 + 21);
  },
);

test.each([13, 150, 4_096])(
  "has it also in chunks of %i bytes, wherever they end",
  async (chunkBytes) => {
    const rows = makeRows(30, 8_000);
    const { clickhouse, countParts } = clickHouseWith(rows, { chunkBytes });
    expect(await readExport(clickhouse)).toBe(rows.map(toLine).join(""));
    expect(countParts()).toBe(2);
  },
);

test("ends with an error when ClickHouse breaks off", async () => {
  const rows = makeRows(2_000, 10);
  const { clickhouse } = clickHouseWith(rows, { failAt: 2 });
  let text = "";
  const read = async () => {
    const chunks = exportClicks(clickhouse, { where: WHERE, link: undefined }, RANGE);
    for await (const chunk of chunks) text += Buffer.from(chunk).toString();
  };
  expect(await read().catch((error: unknown) => error)).toBeInstanceOf(Error);
  expect(
    text ===
      rows
        .slice(0, 1_000 * 3 + 7)
        .map(toLine)
        .join(""),
  ).toBe(true);
});

test("reads one part ahead of its reader, and no more", async () => {
  const { clickhouse, countParts } = clickHouseWith(makeRows(10_000, 10));
  const lines = exportClicks(clickhouse, { where: WHERE, link: undefined }, RANGE);
  await lines.next();
  await lines.return(undefined);
  // No further part is read meanwhile.
  await Bun.sleep(10);
  expect(countParts()).toBe(2);
});
