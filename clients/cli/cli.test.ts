/** Goal: what the command line prints is readable by people and by programs. */
import { describe, expect, test } from "bun:test";
import { PassThrough, Writable } from "node:stream";

import { buildProgram } from "./src/program.ts";
import { Terminal } from "./src/terminal.ts";

type Shape = { isTTY?: boolean; columns?: number; env?: Record<string, string> };

/** What `print` writes on a terminal of a shape. */
function outputOf({ env = {}, ...shape }: Shape, print: (terminal: Terminal) => void): string {
  let written = "";
  const output = new Writable({
    write(chunk, _, done) {
      written += String(chunk);
      done();
    },
  });
  print(new Terminal(new PassThrough(), Object.assign(output, shape), new PassThrough(), env));
  return written;
}

const HEADINGS = ["short URL", "clicks", "title"];
const ROWS = [
  ["https://s.example/a", 7, "Spring sale, extended until the end of June"],
  ["https://s.example/日本", 1_204, "\u001B[31mred\u0007"],
];

describe("a table", () => {
  test.each<[string, Shape, string]>([
    [
      "is aligned on a wide terminal",
      { isTTY: true, columns: 120, env: { NO_COLOR: "1" } },
      "short URL               clicks  title\n" +
        "https://s.example/a          7  Spring sale, extended until the end of June\n" +
        "https://s.example/日本    1204   [31mred\n",
    ],
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

const completionOf = (shell: string): string =>
  outputOf({}, (terminal) =>
    buildProgram({}, terminal).parse(["completion", shell], { from: "user" }),
  );

/** What bash offers after these words. */
function completeInBash(words: string[]): string[] {
  const script = `${completionOf("bash")}
COMP_WORDS=(${words.map((word) => `"${word}"`).join(" ")}); COMP_CWORD=${words.length - 1}
_shorthop; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return Bun.spawnSync(["bash", "-c", script]).stdout.toString().trim().split("\n");
}

describe("completion", () => {
  test.each<[string[], string[]]>([
    [["shorthop", "sho"], ["shorten"]],
    [["shorthop", "links", "o"], ["open"]],
    [["shorthop", "shorten", "--al"], ["--alias"]],
    [["shorthop", "links", "list", "--t"], ["--tag"]],
    [["shorthop", "links", "--json", "e"], ["edit"]],
  ])("bash completes %p", (words, expected) => {
    expect(completeInBash(words)).toEqual(expected);
  });

  test.each(["zsh", "fish"])("%s parses its script", (shell) => {
    const script = completionOf(shell);
    expect(script).toContain("shorten");
    if (Bun.which(shell) === null) return;
    const { exitCode, stderr } = Bun.spawnSync([shell, "-n"], {
      stdin: Buffer.from(script),
    });
    expect([exitCode, stderr.toString()]).toEqual([0, ""]);
  });
});
