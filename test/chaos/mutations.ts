/**
 * Mutations of a copy of the project, each of which removes one protection of clicks. A chaos test
 * that passes without it would not prove anything about it.
 */
import { type Mutation as Replacement, withMutation } from "../harness/mutations.ts";
import type { Kind } from "./kinds.ts";
import { EXIT_UNEQUAL } from "./targets.ts";

type Mutation = Replacement & {
  /** The faults that the protection is for. */
  kinds: [Kind, ...Kind[]];
};

/** Faults of a run without a protection. */
const FAULTS = 2;

const MUTATIONS: Record<string, Mutation> = {
  "dedup-id": {
    kinds: ["kill nats"],
    file: "redirector/journal/publisher.ts",
    replace: [["msgID: formatSegmentId(segment),", ""]],
  },
  token: {
    kinds: ["kill owner after insert"],
    file: "worker/batches/clicks-table.ts",
    replace: [
      ["insert_deduplicate: 1,", "insert_deduplicate: 0,"],
      ["insert_deduplication_token: token,", ""],
      ["deduplicate_blocks_in_dependent_materialized_views: 1,", ""],
    ],
  },
  index: {
    kinds: ["kill worker"],
    file: "worker/batches/owner.ts",
    replace: [
      ["return this.#index.has(id);", "return id === undefined;"],
      ["return await this.#insertBatch(unknown);", "return await this.#insertBatch(segments);"],
    ],
  },
  check: {
    kinds: ["pause owner before check"],
    file: "worker/batches/owner.ts",
    replace: [
      [
        "          await this.confirm();\n          await this.#clicks.insert(",
        "          await this.#clicks.insert(",
      ],
    ],
  },
  "in-doubt": {
    kinds: ["kill owner before insert, which arrives late"],
    file: "worker/batches/owner.ts",
    replace: [["inDoubt.slice(-OPEN_MAX)", "new Array<Manifest>()"]],
  },
  settle: {
    kinds: ["kill owner before insert, which arrives late"],
    file: "worker/batches/owner.ts",
    replace: [["await this.#complete(manifest, rows);", "void rows;"]],
  },
  open: {
    kinds: ["recreate stream during an insert"],
    file: "worker/batches/owner.ts",
    replace: [["    if (atHand.length === 0 && stored.length === 0) return manifest;\n", ""]],
  },
  repair: {
    kinds: ["kill owner of half an insert"],
    file: "worker/batches/owner.ts",
    replace: [["await this.#complete(manifest, [inClicks])", "inClicks.length >= 0"]],
  },
  split: {
    kinds: ["publish poison"],
    file: "worker/batches/owner.ts",
    replace: [
      [
        "if (segments.length === 1 && only !== undefined) return [{ segment: only, reason }];",
        "if (only !== undefined) return rest.map((segment) => ({ segment, reason }));",
      ],
    ],
  },
  replay: {
    kinds: ["kill redirector", "kill second redirector"],
    file: "redirector/journal/journal.ts",
    replace: [
      [
        "const { segments, unknown, unreadable, unchangeable }",
        "const { unknown, unreadable, unchangeable }",
      ],
      ["for (const segment of segments) {", "for (const segment of new Array<SealedSegment>()) {"],
    ],
  },
  position: {
    kinds: ["roll back nats, not its consumers"],
    file: "worker/consumer/clicks-stream.ts",
    replace: [["position === undefined || (await this.#has(position))", "position !== null"]],
  },
  grace: {
    // Otherwise a worker has read what is lost, and stores it.
    kinds: ["roll back nats during an insert"],
    file: "redirector/journal/publisher.ts",
    replace: [
      ["if (type === Events.Reconnect) this.#enqueue(this.#retention.startRepublishing());", ""],
    ],
  },
};

/**
 * Runs the test in a copy of the project without the protection. Returns whether it found that
 * counts differ.
 */
export async function runMutation(name: string, seed: string): Promise<boolean> {
  const mutation = MUTATIONS[name];
  if (mutation === undefined)
    throw new Error(`There is no protection "${name}": ${Object.keys(MUTATIONS).join(", ")}.`);
  return await withMutation(mutation, async (copy) => {
    const child = Bun.spawn([process.execPath, ...commandOf(mutation, seed)], {
      cwd: copy,
      stdio: ["ignore", "inherit", "inherit"],
    });
    const code = await child.exited;
    console.log(describe(name, code));
    return code === EXIT_UNEQUAL;
  });
}

/** The test's program and arguments. */
function commandOf({ kinds }: Mutation, seed: string): string[] {
  const named = kinds.flatMap((kind) => ["--kind", kind]);
  return ["test/chaos/main.ts", "--seed", seed, "--faults", String(FAULTS), ...named];
}

function describe(name: string, code: number): string {
  if (code === 0) return `Equal without ${name}: the test does not cover it.`;
  if (code === EXIT_UNEQUAL) return `Unequal without ${name}, as expected.`;
  return `Without ${name} the test could not run: that shows nothing.`;
}
