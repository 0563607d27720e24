/** Goal: each command of the command line explains itself, in its help and in the manual page. */
import { expect, test } from "bun:test";

import { CommanderError } from "commander";

import { buildProgram } from "../../cli/program.ts";
import { manPage } from "./man-page.ts";

/** What the command line prints for `--help` after these words. */
function readHelp(words: string[]): string {
  let help = "";
  const program = buildProgram({}, { writeOut: (text) => (help += text) });
  try {
    program.parse([...words, "--help"], { from: "user" });
  } catch (error) {
    // It ends the command line, successfully.
    if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error;
  }
  return help;
}

test("each command describes itself and all its options, and is in the manual page", () => {
  const seen: string[] = [];
  const page = manPage("1.2.3", (words) => {
    const help = readHelp(words);
    seen.push(words.join(" "));
    expect(help).toStartWith(["Usage: shorthop", ...words].join(" "));
    // A description follows the usage.
    expect(help.split("\n\n")[1]).toMatch(/^[A-Z]/);
    // Each option has one, on its line or on the next.
    for (const [, option, text] of help.matchAll(/^ {2}(-\S.*?)(?: {2,}|\n {4,})(.*)$/gm))
      expect([words, option, text]).toEqual([words, option, expect.stringMatching(/\w/)]);
    return help;
  });
  for (const command of ["status", "doctor", "backup drill", "geoip update", "users set-password"])
    expect(seen).toContain(command);
  expect(page).toContain(".SH BACKUP DRILL");
  const groff = Bun.which("groff");
  if (groff === null) return;
  const { stderr } = Bun.spawnSync([groff, "-man", "-ww", "-Tutf8"], { stdin: Buffer.from(page) });
  expect(stderr.toString()).toBe("");
});
