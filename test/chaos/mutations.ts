/**
 * Mutations of a copy of the project, each of which removes one protection of clicks. A chaos test that passes
 * without it would not prove anything about it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { copyProject } from "../harness/project-copy.ts";

type Mutation = { file: string; replace: [from: string, to: string][] };

const MUTATIONS: Record<string, Mutation> = {
  "dedup-id": {
    file: "redirector/journal/publisher.ts",
    replace: [["msgID: formatSegmentId(segment),", ""]],
  },
  token: {
    file: "worker/store.ts",
    replace: [
      ["insert_deduplicate: 1,", "insert_deduplicate: 0,"],
      ["insert_deduplication_token: token,", ""],
      ["deduplicate_blocks_in_dependent_materialized_views: 1,", ""],
    ],
  },
  index: {
    file: "worker/batches/owner.ts",
    replace: [
      ["has: (id) => index.has(id),", "has: () => false,"],
      [
        "writer.insertBatch(segments.filter((segment) => !index.has(segment)))",
        "writer.insertBatch(segments)",
      ],
    ],
  },
  check: {
    file: "worker/batches/owner.ts",
    replace: [["          await checkMine();\n", ""]],
  },
  "in-doubt": {
    file: "worker/batches/owner.ts",
    replace: [["index, inDoubt.slice(-OPEN_MAX)", "index, []"]],
  },
  settle: {
    file: "worker/batches/settle.ts",
    replace: [["  if (atHand.length > 0) {", "  if (atHand.length < 0) {"]],
  },
  replay: {
    file: "redirector/journal/journal.ts",
    replace: [
      [
        "const { segments, unknown, unreadable } = recoverSegments(dir);",
        "const { unknown, unreadable } = recoverSegments(dir);",
      ],
      ["for (const segment of segments) {", "for (const segment of new Array<SealedSegment>()) {"],
    ],
  },
  grace: {
    file: "redirector/journal/publisher.ts",
    replace: [["if (type === Events.Reconnect) republish();", ""]],
  },
};

/** Copies the project without the protection; returns the folder. Throws unless each code line occurs exactly once. */
export function copyWithout(root: string, name: string): string {
  const mutation = MUTATIONS[name];
  if (mutation === undefined)
    throw new Error(`There is no protection "${name}": ${Object.keys(MUTATIONS).join(", ")}.`);
  const copy = copyProject(root);
  const path = join(copy, mutation.file);
  let text = readFileSync(path, "utf8");
  for (const [from, to] of mutation.replace) {
    if (text.split(from).length !== 2)
      throw new Error(`"${from}" must occur exactly once in ${mutation.file}.`);
    text = text.replace(from, () => to);
  }
  writeFileSync(path, text);
  return copy;
}
