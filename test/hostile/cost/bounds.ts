/** Reads the bounds that docs/input-bounds.md lists. */
import { join } from "node:path";

import { PROJECT_DIR } from "../../harness/stack.ts";

export type Bound = {
  /** Heading of the table. */
  section: string;
  file: string;
  /** The constant and its value, as they are in the file. */
  bound: string;
};

/** The rows of four cells, the second a file, the third one or more bounds. */
export async function readBounds(): Promise<Bound[]> {
  const page = await Bun.file(join(PROJECT_DIR, "docs/input-bounds.md")).text();
  let section = "";
  return page.split("\n").flatMap((line) => {
    if (line.startsWith("## ")) section = line.slice(3);
    const cells = line.split(" | ").map((cell) => cell.trim());
    const [, file = "", bounds = ""] = cells;
    if (cells.length !== 4 || !file.startsWith("`")) return [];
    return bounds
      .replaceAll(/^`|`$/g, "")
      .split("`, `")
      .map((bound) => ({ section, file: file.replaceAll("`", ""), bound }));
  });
}

/** The bound without its value, e.g. `redirector/http/host.ts HOST_LENGTH_MAX`. */
export const nameBound = ({ file, bound }: Bound): string =>
  `${file} ${/^(?:"[^"]+"|\w+)/.exec(bound)?.[0] ?? bound}`;
