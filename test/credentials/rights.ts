/** What each user of a store may do: the tables of docs/credentials.md; each cell is tried. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const PAGE = readFileSync(join(import.meta.dir, "../../docs/credentials.md"), "utf8");

/**
 * A row: what it says, in Markdown, who may, and what is tried for it. Who may, may do all of that;
 * every other user of the table must be refused each.
 */
export type Right = { what: string; may: readonly string[]; tried: readonly string[] };

/** The cells of the table below a heading: those of its header, and of its rows. */
export function readTable(heading: string): string[][] {
  const [, ...lines] = PAGE.slice(PAGE.indexOf(`\n${heading}\n`)).split("\n");
  const from = lines.findIndex((line) => line.startsWith("|"));
  const length = lines.slice(from).findIndex((line) => !line.startsWith("|"));
  return lines
    .slice(from, from + length)
    .filter((_, i) => i !== 1)
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

/** Reads the table below a heading. Throws unless its users and its rows are these. */
export function readRights(
  heading: string,
  users: readonly string[],
  tried: Readonly<Record<string, readonly string[]>>,
): Right[] {
  const [header = [], ...rows] = readTable(heading);
  const found = [
    header.slice(1, -1).map((cell) => cell.replaceAll("`", "")),
    rows.map(([what = ""]) => what).toSorted(),
    [...new Set(rows.flatMap((cells) => cells.slice(1, -1)))].toSorted(),
  ];
  const expected = [users, Object.keys(tried).toSorted(), ["yes", "–"]];
  if (!Bun.deepEquals(found, expected))
    throw new Error(`"${heading}" is ${JSON.stringify(found)}, not ${JSON.stringify(expected)}.`);
  return rows.map(([what = "", ...cells]) => ({
    what,
    may: users.filter((_, i) => cells[i] === "yes"),
    tried: tried[what] ?? [],
  }));
}

/** Words of a text, for lists that are long. */
export const words = (text: string): string[] => text.split(" ");

/**
 * What of the rows a server refused a user although the table allows it, and allowed although it
 * does not.
 */
export const findDeviations = (
  user: string,
  rights: readonly Right[],
  refused: ReadonlySet<string>,
): string[] =>
  rights.flatMap(({ may, tried }) =>
    tried
      .filter((one) => refused.has(one) === may.includes(user))
      .map((one) => `${refused.has(one) ? "refused" : "allowed"}: ${one}`),
  );
