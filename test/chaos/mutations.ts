/**
 * The protections, each taken away in a copy of the project: a test that passes without one of them
 * would prove nothing of it.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

type Mutation = { file: string; replace: [from: string, to: string][] };

const MUTATIONS: Record<string, Mutation> = {
  "dedup-id": {
    file: "redirector/journal/publisher.ts",
    replace: [["msgID: pageIdText(page)", ""]],
  },
  token: {
    file: "worker/store.ts",
    replace: [
      ["insert_deduplicate: 1,", "insert_deduplicate: 0,"],
      ["insert_deduplication_token: pageIdText(page),", ""],
      ["deduplicate_blocks_in_dependent_materialized_views: 1,", ""],
    ],
  },
  replay: {
    file: "redirector/journal/journal.ts",
    replace: [
      ["const { pages, foreign } = adoptPages(dir);", "const { foreign } = adoptPages(dir);"],
      ["for (const page of pages) {", "for (const page of new Array<SealedPage>()) {"],
    ],
  },
  grace: {
    file: "redirector/journal/publisher.ts",
    replace: [["if (type === Events.Reconnect) publishAgain();", ""]],
  },
};

/** Copies the project without the protection, and gives the folder. Throws when it is not where it was. */
export function copyWithout(root: string, name: string): string {
  const mutation = MUTATIONS[name];
  if (mutation === undefined)
    throw new Error(`There is no protection "${name}": ${Object.keys(MUTATIONS).join(", ")}.`);
  const copy = mkdtempSync(join(tmpdir(), "shorthop-without-"));
  const { stdout } = Bun.spawnSync(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
    { cwd: root },
  );
  for (const path of stdout.toString().trim().split("\n")) {
    // Deleted, and not committed yet.
    if (!existsSync(join(root, path))) continue;
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    cpSync(join(root, path), join(copy, path));
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  symlinkSync(join(root, ".local"), join(copy, ".local"));
  const path = join(copy, mutation.file);
  let text = readFileSync(path, "utf8");
  for (const [from, to] of mutation.replace) {
    if (text.split(from).length !== 2)
      throw new Error(`"${from}" is not in ${mutation.file} once.`);
    text = text.replace(from, () => to);
  }
  writeFileSync(path, text);
  return copy;
}
