/** The page of a build, with a script that runs before it is painted. */
import { basename, join, relative, resolve } from "node:path";

import type { BuildMetafile } from "bun";

type Outputs = BuildMetafile["outputs"];

const ROOT = join(import.meta.dir, "..");

/** Adds the first script, at a path, before the style sheet of the HTML, which loads meanwhile. */
export const addFirstScript = (html: string, path: string): string =>
  html.replace('<link rel="stylesheet"', `<script src="${path}"></script>$&`);

/**
 * The scripts that each module that is loaded with `import()` needs, its own included, by the
 * module's path in the project.
 */
export const scriptsByModule = ({ outputs }: BuildMetafile): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(outputs).flatMap(([path, { entryPoint }]) =>
      entryPoint === undefined || entryPoint.endsWith(".html")
        ? []
        : [[relative(ROOT, resolve(entryPoint)), importsOf(outputs, basename(path))]],
    ),
  );

/** The names of a script and of those that it needs before it runs. */
function importsOf(outputs: Outputs, name: string): string[] {
  const byName = new Map(Object.entries(outputs).map(([path, output]) => [basename(path), output]));
  const found = new Set([name]);
  // A set visits what is added to it meanwhile.
  for (const each of found) {
    for (const { path, kind } of byName.get(each)?.imports ?? [])
      if (kind === "import-statement") found.add(basename(path));
  }
  return [...found];
}
