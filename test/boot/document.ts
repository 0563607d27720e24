/** The commands of a document: its code blocks with a name, ```` ```sh NAME ````. */
import { readFileSync } from "node:fs";

/** Returns the scripts of the named blocks of documents. Throws when two have the same name. */
export function readBlocks(...paths: readonly string[]): Map<string, string> {
  const blocks = new Map<string, string>();
  const text = paths.map((path) => readFileSync(path, "utf8")).join("\n");
  for (const [, name = "", script = ""] of text.matchAll(/^```sh ([\w-]+)\n([^]*?)^```$/gm)) {
    if (blocks.has(name)) throw new Error(`${paths.join(", ")} have two blocks named ${name}.`);
    blocks.set(name, script);
  }
  return blocks;
}
