/** Goal: an export has every click once, however many links and parts it has, and stops reading with its reader. */
import { expect, test } from "bun:test";

import type { ClickTexts } from "../../shared/clicks/query.ts";
import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { exportClicks } from "./export.ts";

const SCOPE = { condition: "account_id = {account_id: UUID}", params: {} };
const RANGE = { from: Date.UTC(2026, 0, 1), to: Date.UTC(2026, 1, 1) };

type Row = { link: Uuid; ms: number; journal: Uuid; idx: number };

/** Answers as ClickHouse would, from rows in order; `failAt` is the number of the statement that breaks off. */
function clickHouseWith(rows: readonly Row[], failAt = Infinity) {
  const links = [...new Set(rows.map(({ link }) => link))];
  let parts = 0;
  const clickhouse: ClickTexts = {
    async query({ query_params: params }) {
      await Promise.resolve();
      if (typeof params["limit"] === "number") {
        const { after, limit } = params;
        const left = typeof after === "string" ? links.slice(links.indexOf(after) + 1) : links;
        const found: unknown[] = left.slice(0, limit).map((link_id) => ({ link_id }));
        // The caller names the rows' type.
        return { json: async <Found>() => await Promise.resolve(found as Found[]), text: unused };
      }
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
      return { json: unused, text: () => Promise.resolve(text) };
    },
  };
  return { clickhouse, countParts: () => parts };
}

const unused = (): Promise<never> => Promise.reject(new Error("Not asked for."));

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

test("has every click once and in order, over many groups of links and several parts of one", async () => {
  const rows = makeRows(21_500, 120_000);
  const { clickhouse, countParts } = clickHouseWith(rows);
  let text = "";
  for await (const lines of exportClicks(clickhouse, { scope: SCOPE, link: undefined }, RANGE))
    text += lines;
  expect(text === rows.map(toLine).join("")).toBe(true);
  // Growing parts of the first group, and one of each other one.
  expect(countParts()).toBe(5 + 21);
});

test("ends with an error when ClickHouse breaks off", async () => {
  const { clickhouse } = clickHouseWith(makeRows(2_000, 10), 2);
  const lines = exportClicks(clickhouse, { scope: SCOPE, link: undefined }, RANGE);
  expect((await lines.next()).done).toBe(false);
  expect(await lines.next().catch((error: unknown) => error)).toBeInstanceOf(Error);
});

test("reads one part ahead of its reader, and no more", async () => {
  const { clickhouse, countParts } = clickHouseWith(makeRows(10_000, 10));
  const lines = exportClicks(clickhouse, { scope: SCOPE, link: undefined }, RANGE);
  await lines.next();
  await lines.return(undefined);
  await Bun.sleep(10);
  expect(countParts()).toBe(2);
});
