/** The commands of a document: its code blocks with a name, ```` ```sh NAME ````. */
import { readFileSync } from "node:fs";

/** Returns the scripts of the named blocks. Throws when two have the same name. */
export function readBlocks(path: string): Map<string, string> {
  const blocks = new Map<string, string>();
  for (const [, name = "", script = ""] of readFileSync(path, "utf8").matchAll(
    /^```sh ([\w-]+)\n([^]*?)^```$/gm,
  )) {
    if (blocks.has(name)) throw new Error(`${path} has two blocks named ${name}.`);
    blocks.set(name, script);
  }
  return blocks;
}
