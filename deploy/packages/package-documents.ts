/**
 * What Debian's policy wants beside the files of a package (chapters 12.5 and 12.7), and the
 * reasons for what `lintian` would rather have in another way.
 */
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { run } from "./run.ts";

/** A tag of `lintian`, with why the package has it. */
export type Override = { tag: string; reason: string };

type Document = {
  name: string;
  version: string;
  maintainer: string;
  /** Path of the licence. */
  licence: string;
  overrides: readonly Override[];
};

/** Writes the licence, the changelog of the package and its overrides below `root`. */
export function writeDocuments(
  root: string,
  { name, version, maintainer, licence, overrides }: Document,
): void {
  const documents = join(root, "usr/share/doc", name);
  mkdirSync(documents, { recursive: true });
  cpSync(licence, join(documents, "copyright"));
  const date = new Date().toUTCString().replace("GMT", "+0000");
  writeFileSync(
    join(documents, "changelog.Debian"),
    `shorthop (${version}) stable; urgency=medium

  * Changes are in /usr/share/doc/shorthop/changelog.gz of the package shorthop.

 -- ${maintainer}  ${date}
`,
  );
  compress(join(documents, "changelog.Debian"));
  if (overrides.length === 0) return;
  const dir = join(root, "usr/share/lintian/overrides");
  mkdirSync(dir, { recursive: true });
  const lines = overrides.map(({ tag, reason }) => `# ${reason}\n${name}: ${tag} *\n`);
  writeFileSync(join(dir, name), lines.join(""));
}

/** Compresses a file as Debian wants it: the same content gives the same bytes. */
export const compress = (path: string): void => {
  run(["gzip", "--best", "--no-name", path], "/");
};
