/** Goal: what the command line prints is readable by people and by programs. */
import { afterAll, describe, expect, test } from "bun:test";
import { PassThrough, Readable, Writable } from "node:stream";

import { buildProgram } from "./src/program.ts";
import { Terminal } from "./src/terminal.ts";

type Shape = { isTTY?: boolean; columns?: number; env?: Record<string, string> };

class Collector extends Writable {
  text = "";

  override _write(chunk: unknown, _: unknown, done: () => void): void {
    this.text += String(chunk);
    done();
  }
}

/** What `print` writes on a terminal of a shape. */
function outputOf({ env = {}, ...shape }: Shape, print: (terminal: Terminal) => void): string {
  const output = new Collector();
  print(new Terminal(new PassThrough(), Object.assign(output, shape), new PassThrough(), env));
  return output.text;
}

const HEADINGS = ["short URL", "clicks", "title"];
const ROWS = [
  ["https://s.example/a", 7, "Spring sale, extended until the end of June"],
  ["https://s.example/日本", 1_204, "\u001B[31mred\u0007"],
];

describe("a table", () => {
  test.each<[string, Shape, string]>([
    [
      "is cut to a narrow one",
      { isTTY: true, columns: 50, env: { NO_COLOR: "1" } },
      "short URL               clicks  title\n" +
        "https://s.example/a          7  Spring sale, exte…\n" +
        "https://s.example/日本    1204   [31mred\n",
    ],
    [
      "has a bold head where colour is allowed",
      { isTTY: true, columns: 50 },
      "\u001B[1mshort URL               clicks  title\u001B[22m\n" +
        "https://s.example/a          7  Spring sale, exte…\n" +
        "https://s.example/日本    1204   [31mred\n",
    ],
    [
      "is whole and tab-separated on a pipe, without a head",
      {},
      "https://s.example/a\t7\tSpring sale, extended until the end of June\n" +
        "https://s.example/日本\t1204\t [31mred \n",
    ],
  ])("%s", (_, shape, expected) => {
    expect(outputOf(shape, (terminal) => terminal.printTable(HEADINGS, ROWS))).toBe(expected);
  });

  test("shows shares as bars", () => {
    const terminal = new Terminal(new PassThrough(), new PassThrough(), new PassThrough(), {});
    expect([8, 4, 1, 0].map((value) => terminal.bar(value, 8, 4))).toEqual(["████", "██", "▌", ""]);
    expect(terminal.bar(0, 0)).toBe("");
  });
});

const LINK = {
  id: "link_1",
  short_url: "https://s.example/sale",
  original_url: "https://example.com/spring/sale?ref=newsletter",
  alias: "sale",
  title: "Spring sale, extended until the end of June",
  tags: ["spring", "mail"],
  notes: null,
  clicks: 1_204,
};
const OTHER = {
  ...LINK,
  id: "link_2",
  short_url: "https://s.example/x",
  title: null,
  tags: [],
  clicks: 7,
};

/** What an API with two links returns, of what commands read. */
const RESPONSES: Readonly<Record<string, unknown>> = {
  "GET /v1/links": { data: [LINK, OTHER], next_cursor: null },
  "GET /v1/links/link_1": LINK,
  "POST /v1/links/bulk": {
    data: [
      { index: 0, link: LINK },
      { index: 1, error: { code: "invalid_url", message: "url is no URL." } },
    ],
  },
  "GET /v1/analytics": {
    clicks_over_time: [
      { date: "2026-03-01", clicks: 1_000, unique: 800 },
      { date: "2026-03-02", clicks: 211, unique: 190 },
    ],
    summary: { total_clicks: 1_211, unique_clicks: 990 },
  },
  "GET /v1/analytics/breakdown": {
    data: [
      { values: { country: "DE" }, clicks: 1_000, percentage: 82.6 },
      { values: { country: "ZZ" }, clicks: 211, percentage: 17.4 },
    ],
  },
};

const api = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: ({ method, url }) => Response.json(RESPONSES[`${method} ${new URL(url).pathname}`]),
});
afterAll(() => api.stop(true));

/** What a command prints, and what it says beside that, on a terminal of a shape. */
async function show(words: string[], { env = {}, ...shape }: Shape, input = ""): Promise<string[]> {
  const output = Object.assign(new Collector(), shape);
  const messages = new Collector();
  const login = { ...env, SHORTHOP_URL: api.url.origin, SHORTHOP_KEY: "key" };
  const terminal = new Terminal(Readable.from([input]), output, messages, login);
  await buildProgram(login, terminal).parseAsync(words, { from: "user" });
  return [output.text, messages.text];
}

const WIDE = { isTTY: true, columns: 120 };
const PIPE = {};

const COMMANDS: [string[], string][] = [
  [["links", "list"], ""],
  [["links", "get", "link_1"], ""],
  [["stats"], ""],
  [["stats", "--by", "country"], ""],
  [["shorten"], "https://example.com/\nno URL\n"],
];

const ON_A_TERMINAL = `$ shorthop links list
<b>short URL               clicks  tags         title</b>
https://s.example/sale    1204  spring,mail  Spring sale, extended until the end of June
https://s.example/x          7               https://example.com/spring/sale?ref=newsletter
$ shorthop links get link_1
<b>field         value</b>
id            link_1
short_url     https://s.example/sale
original_url  https://example.com/spring/sale?ref=newsletter
alias         sale
title         Spring sale, extended until the end of June
tags          ["spring","mail"]
clicks        1204
$ shorthop stats
<b>day         clicks  unique</b>
2026-03-01    1000     800  ██████████████████████████████
2026-03-02     211     190  ██████▍
1211 clicks, 990 unique.
$ shorthop stats --by country
<b>country  clicks     %</b>
DE         1000  82.6  ██████████████████████████████
ZZ          211  17.4  ██████▍
$ shorthop shorten
https://s.example/sale	https://example.com/
no URL: url is no URL.
`;

describe("commands", () => {
  test("print tables, bars and sums on a terminal", async () => {
    let shown = "";
    for (const [words, input] of COMMANDS)
      shown += `$ shorthop ${words.join(" ")}\n${(await show(words, WIDE, input)).join("")}`;
    const text = shown.replaceAll("\u001B[1m", "<b>").replaceAll("\u001B[22m", "</b>");
    expect(text).toBe(ON_A_TERMINAL);
  });

  test.each<Record<string, string>>([{ NO_COLOR: "1" }, { TERM: "dumb" }])(
    "print the same without colour where it is not wanted: %p",
    async (env) => {
      for (const [words, input] of COMMANDS) {
        const [coloured = ""] = await show(words, WIDE, input);
        const [plain] = await show(words, { ...WIDE, env }, input);
        expect(plain).toBe(Bun.stripANSI(coloured));
      }
    },
  );

  test("print JSON that is the same on a terminal and on a pipe, a result a line", async () => {
    for (const [words, input] of COMMANDS) {
      const [shown = ""] = await show([...words, "--json"], WIDE, input);
      expect(await show([...words, "--json"], PIPE, input)).toEqual([shown, ""]);
      for (const line of shown.trim().split("\n")) expect(() => JSON.parse(line)).not.toThrow();
    }
  });
});

const completionOf = (shell: string): string =>
  outputOf({}, (terminal) =>
    buildProgram({}, terminal).parse(["completion", shell], { from: "user" }),
  );

type Shell = "bash" | "zsh" | "fish";

/** How a shell says what it offers after words; zsh compares what it offers with the last itself. */
const OFFERS: Readonly<Record<Shell, (words: string[]) => string>> = {
  bash: (words) =>
    `COMP_WORDS=(${words.join(" ")}); COMP_CWORD=${words.length - 1}
     _shorthop; printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: (words) => `words=(${words.join(" ")}); CURRENT=${words.length}; _shorthop`,
  fish: (words) => `complete -C '${words.join(" ")}'`,
};

/** What zsh has only for a person. */
const FOR_ZSH = `compdef() { }; compadd() { shift; print -l -- "$@" }`;

function complete(shell: Shell, words: string[]): string[] {
  const script = [shell === "zsh" ? FOR_ZSH : "", completionOf(shell), OFFERS[shell](words)];
  const { stdout } = Bun.spawnSync([shell, "-c", script.join("\n")]);
  const offered = stdout.toString().trim().split("\n");
  return offered.filter((word) => word.startsWith(words.at(-1) ?? ""));
}

const SHELLS: readonly Shell[] = ["bash", "zsh", "fish"];

describe.each(SHELLS)("completion in %s", (shell) => {
  if (Bun.which(shell) === null) console.warn(`!!! There is no ${shell}: NOT TESTED HERE`);

  test.skipIf(Bun.which(shell) === null).each<[string[], string[]]>([
    [["shorthop", "sho"], ["shorten"]],
    [["shorthop", "links", "o"], ["open"]],
    [["shorthop", "shorten", "--al"], ["--alias"]],
    [["shorthop", "links", "list", "--t"], ["--tag"]],
    [["shorthop", "links", "--json", "e"], ["edit"]],
  ])("offers after %p what fits", (words, expected) => {
    expect(complete(shell, words)).toEqual(expected);
  });
});
