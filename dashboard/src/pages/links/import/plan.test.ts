/**
 * Goal: every cell of an imported file becomes what the page says of it, or the row is named with a
 * reason.
 */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { findField, type Mapping } from "../../../../../shared/link-csv/fields.ts";
import { suggestMapping } from "../../../../../shared/link-csv/services.ts";
import { printCsv } from "../../../data/csv.ts";
import {
  changeTarget,
  type ImportChoices,
  type ImportFile,
  type ImportItem,
  parseImportFile,
  Planner,
  planRows,
} from "./plan.ts";
import { countNotes, countProblems, reportOf } from "./run-cards.tsx";
import { suggestOptions } from "./use-import.ts";

const NOW = Date.parse("2026-06-01T00:00:00Z");
const HOSTS = { own: "sho.rt", domains: new Set(["go.example.com"]) };

/** Reads the text of a file. Throws what is wrong with it. */
function read(csv: string): ImportFile {
  const file = parseImportFile("links.csv", new TextEncoder().encode(csv));
  if ("problem" in file) throw new Error(file.problem);
  return file;
}

/** Plans a file as the page suggests, with some options or columns changed. */
function plan(
  csv: string,
  changed: Partial<ImportChoices> = {},
  change: (mapping: Mapping) => Mapping = (mapping) => mapping,
): ImportItem[] {
  const file = read(csv);
  const mapping = change(suggestMapping(file.columns, file.service));
  const options = { ...suggestOptions(file, mapping, HOSTS), ...changed };
  const planner = new Planner({ ...file, mapping, options, hosts: HOSTS, now: NOW });
  return file.rows.flatMap((row, index) => planner.plan(row, index));
}

/** The links of a file without a problem, and the kinds of problems of the others. */
const outcomes = (items: readonly ImportItem[]): unknown[] =>
  items.map(({ link, problem }) => problem?.kind ?? link);

/** What becomes of each column: its field, or after a minus why it is not imported. */
function mappingOf(csv: string) {
  const { columns, service } = read(csv);
  const targets = suggestMapping(columns, service).map((target) =>
    "field" in target ? target.field : `-${target.ignored}`,
  );
  return [service?.name, targets.join(" ")];
}

const URL_A = "https://example.com/a";

describe("an export", () => {
  // The headers are those of docs/imports.md.
  test.each([
    [
      "Bitly",
      "Link,Custom Link,Date created,Title,Destination URL,Engagements,Status",
      "short_url custom_short_url -created title url -clicks status",
    ],
    [
      "Dub",
      "Short link,Destination URL,Clicks,Leads,Conversions,Revenue,Created at,Link ID,Updated at,Tags,Archived",
      "short_url url -clicks -clicks -clicks -clicks -created -identifier -created tags archived",
    ],
    [
      "Short.io",
      "idString,shortURL,originalPath,originalURL,title,clicks,createdAt,updatedAt,expiresAt,createdBy,tags",
      "-identifier short_url alias url title -clicks -created -created expires_at -author tags",
    ],
    ["Rebrandly", "id,createdAt,shortUrl,destination", "-identifier -created short_url url"],
    ["YOURLS", "keyword,url,title,timestamp,ip,clicks", "alias url title -created -author -clicks"],
    ["YOURLS", "source,target,hits", "alias url -clicks"],
    [
      "Shlink",
      "createdAt,domain,shortCode,shortUrl,longUrl,title,tags,visits",
      "-created domain alias short_url url title tags -clicks",
    ],
    ["Kutt", "address,target,description", "alias url title"],
  ])("of %s is recognized, with every column", (service, header, targets) => {
    expect(mappingOf(`${header}\n${URL_A}\n`)).toEqual([service, targets]);
  });

  test("of an unknown service is mapped by its names, and what is not known says so", () => {
    expect(mappingOf("Destination,Slug,Mood,constructor\na,b,c,d\n")).toEqual([
      undefined,
      "url alias -unknown -unknown",
    ]);
    expect(mappingOf("Long URL,Custom alias\na,b\n")).toEqual([undefined, "url alias"]);
  });

  test.each([
    [
      "Ziel-URL;Kürzel;Titel;Schlagwörter;Gültig bis;Klicks;Erstellt am",
      "url alias title tags expires_at -clicks -created",
    ],
    [
      "URL de destination;Lien court;Titre;Étiquettes;Date d'expiration;Mot de passe;Créé par",
      "url short_url title tags expires_at password -author",
    ],
    [
      "Enlace;Dominio;Título;Etiquetas;Fecha de caducidad;Contraseña;UTM campaña",
      "url domain title tags expires_at password utm_campaign",
    ],
    ["Lien;URL cible", "-taken url"],
  ])("is mapped by German, French and Spanish names: %s", (header, targets) => {
    expect(mappingOf(`${header}\nx\n`)).toEqual([undefined, targets]);
  });

  test("never has two columns for one field, and a changed column takes its field from another", () => {
    const { columns, service } = read("url,long_url,alias\na,b,c\n");
    const mapping = suggestMapping(columns, service);
    expect(mapping).toEqual([{ ignored: "taken" }, { field: "url" }, { field: "alias" }]);
    expect(changeTarget(mapping, 0, "url")).toEqual([
      { field: "url" },
      { ignored: "taken" },
      { field: "alias" },
    ]);
    expect(findField(changeTarget(mapping, 1, undefined), "url")).toBe(-1);
  });

  test("has one target for each column, whatever they are called", () => {
    const name = fc.oneof(
      fc.string({ maxLength: 12 }),
      fc.constantFrom("url", "Long URL", "alias", "status", "Status", "__proto__", "toString", ""),
    );
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 20 }), (columns) => {
        const mapping = suggestMapping(columns, undefined);
        expect(mapping).toHaveLength(columns.length);
        const fields = mapping.flatMap((target) => ("field" in target ? target.field : []));
        expect(new Set(fields).size).toBe(fields.length);
      }),
    );
  });
});

describe("a link's state", () => {
  const BITLY = "Link,Custom Link,Date created,Title,Destination URL,Engagements,Status";
  const bitly = (status: string) => `${BITLY}\nhttps://bit.ly/a,,,,${URL_A},1,${status}\n`;

  test.each([
    ["Active", { url: URL_A, alias: "a" }],
    ["", { url: URL_A, alias: "a" }],
    ["Archived", { url: URL_A, alias: "a", archived: true }],
    ["hidden", { url: URL_A, alias: "a", archived: true }],
    ["Disabled", { url: URL_A, alias: "a", disabled: true }],
    ["Deleted", "deleted"],
    ["Frozen", "unknown_state"],
  ])("%s never makes a link live that was not", (status, expected) => {
    expect(outcomes(plan(bitly(status)))).toEqual([expected]);
  });

  test.each(["disabled", "is_disabled", "banned"])("%s stays off", (name) => {
    const csv = `short_url,long_url,${name}\na,${URL_A},1\nb,${URL_A},0\n`;
    expect(plan(csv).map(({ link }) => link.disabled)).toEqual([true, undefined]);
  });

  test.each(["active", "is_enabled", "Status"])("is off where %s says no", (name) => {
    const csv = `short_url,long_url,${name}\na,${URL_A},false\nb,${URL_A},1\nc,${URL_A},perhaps\n`;
    const on = { url: URL_A, alias: "b" };
    expect(outcomes(plan(csv))).toEqual([
      { url: URL_A, alias: "a", disabled: true },
      on,
      "unknown_state",
    ]);
  });

  test("archived is kept, or the link is left out if one asks for it", () => {
    const csv = `Short link,Destination URL,Archived\nhttps://dub.sh/a,${URL_A},Yes\nhttps://dub.sh/b,${URL_A},No\n`;
    const [archived, live] = [
      { url: URL_A, alias: "a", archived: true },
      { url: URL_A, alias: "b" },
    ];
    expect(outcomes(plan(csv))).toEqual([archived, live]);
    expect(outcomes(plan(csv, { archived: "leave" }))).toEqual(["archived", live]);
    expect(outcomes(plan(csv.replace("Yes", "perhaps")))).toEqual(["unknown_state", live]);
  });

  test("is told where its column is not imported", () => {
    const items = plan(bitly("Archived"), {}, (mapping) => changeTarget(mapping, 6, undefined));
    expect(countNotes(items)).toEqual([
      { kind: "left_archived", count: 1 },
      { kind: "moved", count: 1 },
    ]);
  });

  test.each([
    ["archived", "1", 1],
    ["archived", "0", 0],
    ["active", "1", 0],
    ["active", "0", 1],
  ])("is told of %s %s where its column is not imported, if it is off", (name, text, told) => {
    const csv = `short_url,long_url,${name}\na,${URL_A},${text}\n`;
    const items = plan(csv, {}, (mapping) => changeTarget(mapping, 2, undefined));
    expect(countNotes(items)).toEqual(told === 0 ? [] : [{ kind: "left_archived", count: told }]);
  });

  test.each<[string[], Partial<ImportChoices>, string[]]>([
    [["2026-05-31 23:59:59"], {}, ["expired"]],
    [["03/04/2030"], {}, ["date_order"]],
    [["03/04/2030"], { dateOrder: "month" }, ["2030-03-04T00:00:00.000Z"]],
    // The second shows the order of the first.
    [["03/04/2030", "31/12/2030"], {}, ["2030-04-03T00:00:00.000Z", "2030-12-31T00:00:00.000Z"]],
    [["2030-02-31"], {}, ["invalid_date"]],
    [["2030-01-01T01:00:00+0100"], {}, ["2030-01-01T00:00:00.000Z"]],
    [["1893456000"], {}, ["2030-01-01T00:00:00.000Z"]],
  ])(
    "with the expiry %j is imported as that is meant, or not at all",
    (dates, options, expected) => {
      const csv = ["url,expires_at", ...dates.map((date) => `${URL_A},${date}`)].join("\n");
      const read = plan(csv, options).map(({ link, problem }) => problem?.kind ?? link.expires_at);
      expect(read).toEqual(expected);
    },
  );

  test("protected is never opened without the password", () => {
    const csv = `url,has password,password\n${URL_A},yes,\n${URL_A},yes,secret\n${URL_A},,$2b$10$abc\n${URL_A},no,\n${URL_A},,••••\n`;
    expect(outcomes(plan(csv))).toEqual([
      "missing_password",
      { url: URL_A, password: "secret" },
      "masked_password",
      { url: URL_A },
      "masked_password",
    ]);
  });
});

describe("a short link's place", () => {
  const BOTH = `Link,Custom Link,Destination URL,Engagements\nhttps://bit.ly/3xYz,https://go.example.com/sale,${URL_A},1\n`;

  test("is that of the custom back-half, or of both if one asks for it", () => {
    const custom = { url: URL_A, alias: "sale", domain: "go.example.com" };
    const items = plan(BOTH);
    expect(outcomes(items)).toEqual([custom]);
    expect(countNotes(items)).toEqual([{ kind: "custom_wins", count: 1 }]);
    // bit.ly is nobody's own: the random one needs a domain.
    expect(outcomes(plan(BOTH, { backHalves: "both" }))).toEqual([custom, "foreign_domain"]);
    expect(outcomes(plan(BOTH, { backHalves: "both", domain: { domain: "" } }))).toEqual([
      { url: URL_A, alias: "sale" },
      { url: URL_A, alias: "3xYz" },
    ]);
  });

  test("is each of several custom back-halves, and the random one where there is no other", () => {
    const csv = `Bitlink,Custom Bitlink,Long URL\nbit.ly/r1,"bit.ly/one, bit.ly/two",${URL_A}\nbit.ly/r2,,${URL_A}\nbit.ly/same,same,${URL_A}\n`;
    const items = plan(csv);
    expect(items.map(({ row, link }) => [row, link.alias])).toEqual([
      [2, "one"],
      [2, "two"],
      [3, "r2"],
      [4, "same"],
    ]);
    expect(countNotes(items)).toContainEqual({ kind: "custom_wins", count: 2 });
  });

  test("is its path in Short.io's and YOURLS' exports", () => {
    const short = `originalURL,path,title\n${URL_A},printed,\n`;
    expect(outcomes(plan(short))).toEqual([{ url: URL_A, alias: "printed" }]);
    const yourls = `source,target,hits\n/printed/,${URL_A},7\n`;
    expect(outcomes(plan(yourls))).toEqual([{ url: URL_A, alias: "printed" }]);
  });

  test("is never half of a path, nor generated where the file has one that is not allowed", () => {
    const csv = `Short URL,url\nsho.rt/a//b,${URL_A}\nhttps://sho.rt,${URL_A}\nhttps://sho.rt/a%2Fb,${URL_A}\n,${URL_A}\n`;
    const items = plan(csv);
    expect(outcomes(items)).toEqual(["invalid_alias", "no_alias", "invalid_alias", { url: URL_A }]);
    expect(countNotes(items)).toEqual([{ kind: "generated_alias", count: 1 }]);
  });

  test("is its whole path, in every script, raw and percent-encoded", () => {
    const paths = ["2024/spring", "v1.2", "r%C3%A9sum%c3%a9", "re\u0301", "🎈"];
    const csv = `Short URL,url\n${paths.map((path) => `sho.rt/${path},${URL_A}\n`).join("")}`;
    const aliases = ["2024/spring", "v1.2", "résumé", "ré", "🎈"];
    expect(outcomes(plan(csv))).toEqual(aliases.map((alias) => ({ url: URL_A, alias })));
  });

  test("stays on its domain if that is the account's, and is elsewhere only by choice", () => {
    const csv = `shortUrl,destination\ngo.example.com/a,${URL_A}\nsho.rt/b,${URL_A}\nrebrand.ly/c,${URL_A}\n`;
    expect(outcomes(plan(csv))).toEqual([
      { url: URL_A, alias: "a", domain: "go.example.com" },
      { url: URL_A, alias: "b" },
      "foreign_domain",
    ]);
    const moved = plan(csv, { domain: { domain: "go.example.com" } });
    expect(moved.map(({ link }) => link?.domain)).toEqual(
      Array.from({ length: 3 }, () => "go.example.com"),
    );
    expect(countNotes(moved)).toEqual([{ kind: "moved", count: 2 }]);
    const [foreign] = plan(`shortUrl,destination\nrebrand.ly/c,${URL_A}\n`);
    expect(foreign).toMatchObject({ link: { alias: "c" }, notes: ["moved"] });
  });

  test("is taken by the first of two rows", () => {
    const items = plan(`url,alias\n${URL_A},a\n${URL_A},b\n${URL_A},a\n`);
    expect(countProblems(items)).toEqual([{ kind: "repeated_alias", count: 1 }]);
    expect(items[2]?.problem?.message).toContain("row 2");
  });
});

describe("a row", () => {
  test("with more cells than columns is not imported", () => {
    const items = plan(`url,title\nhttps://example.com/?a=1,2,Title\n${URL_A},Title,\n`);
    expect(outcomes(items)).toEqual(["too_many_cells", { url: URL_A, title: "Title" }]);
  });

  test("keeps its number in the file, also after blank rows and cells of several lines", () => {
    const items = plan(`url,title\n\n${URL_A},"two\nlines"\n,\nnonsense,\n`);
    expect(items.map(({ row }) => row)).toEqual([3, 5]);
    expect(outcomes(items)).toEqual([{ url: URL_A, title: "two lines" }, "invalid_url"]);
  });

  test("keeps its number also if rows before the header are empty", () => {
    for (const before of ["\n\n", ";;\n \n", "sep=;\n;\n"]) {
      const [item] = plan(`${before}url;title\n${URL_A};Title\n`);
      expect(item).toMatchObject({ row: 4, link: { url: URL_A, title: "Title" } });
    }
  });

  test("has its tags by the separator of its service, or of the file", () => {
    const shlink = `shortCode,longUrl,tags\na,${URL_A},"x,y|z"\n`;
    expect(plan(shlink)[0]?.link.tags).toEqual(["x,y", "z"]);
    expect(plan(shlink, { separator: "," })[0]?.link.tags).toEqual(["x", "y|z"]);
    expect(plan(`url;tags\n${URL_A};"x;y"\n`)[0]?.link.tags).toEqual(["x", "y"]);
    expect(plan(`url;tags\n${URL_A};"x,\u200b"\n`)[0]?.link.tags).toEqual(["x"]);
    expect(plan(`url,tags\n${URL_A},"[""a,b""]"\n`)[0]?.link.tags).toEqual(["a,b"]);
  });

  test("gets the tags of all rows beside its own, each once", () => {
    const csv = `url,tags\n${URL_A},"a,b"\n${URL_A},\n`;
    expect(plan(csv, { tags: "b, spring" }).map(({ link }) => link.tags)).toEqual([
      ["a", "b", "spring"],
      ["b", "spring"],
    ]);
    expect(plan(csv).map(({ link }) => link.tags)).toEqual([["a", "b"], undefined]);
  });

  test("gets https:// before a host without a scheme, and says so", () => {
    const items = plan("url\nexample.com/a\n");
    expect(outcomes(items)).toEqual([{ url: URL_A }]);
    expect(countNotes(items)).toContainEqual({ kind: "scheme", count: 1 });
  });

  test("names the field of a value that is not allowed", () => {
    const [item] = plan(`url,max_clicks\n${URL_A},many\n`);
    expect(item?.problem).toEqual({
      kind: "invalid_value",
      message: "Click limit: A whole number",
    });
    const [empty] = plan("url,alias\n,abc\n");
    expect(empty?.problem).toEqual({ kind: "invalid_url", message: "Destination: Required" });
  });
});

test("rows are planned in turns as they are at once, and an aborted plan ends", async () => {
  const rows = Array.from({ length: 2_500 }, (_, i) => `${URL_A},a${i % 2_400}`);
  const csv = ["url,alias", ...rows].join("\n");
  const file = read(csv);
  const mapping = suggestMapping(file.columns, file.service);
  const options = suggestOptions(file, mapping, HOSTS);
  const input = { ...file, mapping, options, hosts: HOSTS, now: NOW };
  expect(await planRows(file.rows, input)).toEqual(plan(csv));
  const controller = new AbortController();
  const planned = planRows(file.rows, input, controller.signal);
  controller.abort(new Error("enough"));
  expect(planned).rejects.toThrow("enough");
});

test("rows that were not imported are listed whole, and can be imported once corrected", () => {
  const csv = `url,title,title\nnonsense,=1+1,"a,b"\n${URL_A},x,y\n,z,\n`;
  const file = read(csv);
  const failed = plan(csv).flatMap(({ problem, ...item }) =>
    problem === undefined ? [] : [{ ...item, problem }],
  );
  const report = printCsv(reportOf(file, failed));
  const again = read(report);
  expect(again.columns).toEqual(["import_row", "import_reason", ...file.columns]);
  expect(again.rows.map(({ cells }) => [cells[0], ...cells.slice(2)])).toEqual([
    ["2", "nonsense", "'=1+1", "a,b"],
    ["4", "", "z", ""],
  ]);
  const corrected = plan(report.replace("nonsense", URL_A));
  expect(outcomes(corrected)).toEqual([{ url: URL_A, title: "=1+1" }, "invalid_url"]);
  // Listed again, the row is as it was in the first file.
  const second = printCsv(
    reportOf(
      again,
      failed.slice(0, 1).map((item) => ({ ...item, index: 0 })),
    ),
  );
  expect(read(second).columns).toEqual(again.columns);
  expect(read(second).rows[0]?.cells.slice(2)).toEqual(["nonsense", "'=1+1", "a,b"]);
});
