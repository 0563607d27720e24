/** The manual page shorthop(1), from the help of every command (man-pages(7), groff_man(7)). */

/** Commands may have commands, but not deeper. */
const DEPTH_MAX = 3;

/** `readHelp` returns the help of a command, given by its words. */
export function manPage(version: string, readHelp: (words: string[]) => string): string {
  return [
    `.TH SHORTHOP 1 "" "Shorthop ${version}"`,
    ".SH NAME",
    "shorthop \\- manage a Shorthop installation",
    ".SH SYNOPSIS",
    ".B shorthop",
    ".I command",
    "[\\fIoptions\\fR]",
    ...describe([], readHelp),
    ".SH SEE ALSO",
    "/usr/share/doc/shorthop/docs/operations.md, /usr/share/doc/shorthop/docs/configuration.md",
    "",
  ].join("\n");
}

/** The section of a command, and those of its own commands. */
function describe(words: string[], readHelp: (words: string[]) => string): string[] {
  const help = readHelp(words);
  return [
    `.SH ${words.length === 0 ? "COMMANDS" : words.join(" ").toUpperCase()}`,
    ".nf",
    ...help.trimEnd().split("\n").map(escapeLine),
    ".fi",
    ...(words.length < DEPTH_MAX
      ? listCommands(help).flatMap((name) => describe([...words, name], readHelp))
      : []),
  ];
}

/** The commands that a help text lists, without `help` itself. */
function listCommands(help: string): string[] {
  const [, listed = ""] = help.split("\nCommands:\n");
  return [...listed.matchAll(/^ {2}([a-z][a-z-]*)/gm)]
    .map(([, name = ""]) => name)
    .filter((name) => name !== "help");
}

/** A line of a text without formatting: backslashes, and what would be a request at its start. */
const escapeLine = (line: string): string =>
  line
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^([.'])/, "\\&$1")
    // Outside ASCII, roff takes code points in hexadecimal.
    .replaceAll(/[^\x20-\x7e]/gu, (character) => `\\[u${codeOf(character)}]`);

const codeOf = (character: string): string =>
  (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
