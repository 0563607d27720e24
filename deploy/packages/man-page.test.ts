/** Goal: each command of the command line explains itself, in its help and in the manual page. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";

import { createManPage, listCommands } from "./man-page.ts";
import { run } from "./run.ts";

// Each command starts the command line anew.
setDefaultTimeout(120_000);

const ROOT = join(import.meta.dir, "../..");

test("each command describes itself and all its options, and is in the manual page", () => {
  const seen: string[] = [];
  const page = createManPage("1.2.3", (words) => {
    const help = run([process.execPath, "api/cli/main.ts", ...words, "--help"], ROOT);
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

test("commands are read from a help text", () => {
  const help =
    "Usage: x\n\nCommands:\n  one [options] <id>  First\n    two words\n  help [command]\n";
  expect(listCommands(help)).toEqual(["one"]);
});
