/**
 * Setup is a list of steps. Each compares this host with what it should be, and returns the changes
 * that are missing. So a run without differences changes nothing, a dry run only prints, a repair
 * is a run, and a run that was killed is finished by the next one.
 */

/** One change that a step would make. */
export type Change = {
  /** What it does, in words of an operator: "write /etc/shorthop/api.env". */
  title: string;
  /** The lines of a diff, or the statements, without secrets. */
  lines?: readonly string[];
  apply: () => void | Promise<void>;
};

export type Step = {
  name: string;
  /**
   * Returns the changes that are missing, in the order in which they must be made. What an earlier
   * step has not made yet may be missing: in a dry run it is.
   */
  inspect: () => Change[] | Promise<Change[]>;
};

type Options = { dryRun: boolean; print: (line: string) => void };

/**
 * Makes the missing changes of each step, and returns their number; a dry run only prints them.
 * Throws when a step still finds differences after its changes.
 */
export async function runSteps(
  steps: readonly Step[],
  { dryRun, print }: Options,
): Promise<number> {
  let count = 0;
  for (const { name, inspect } of steps) {
    const changes = await inspect();
    count += changes.length;
    for (const { title, lines = [], apply } of changes) {
      print(`${name}: ${title}`);
      if (dryRun) for (const line of lines) print(`    ${line}`);
      else await apply();
    }
    if (dryRun || changes.length === 0) continue;
    const [left] = await inspect();
    if (left !== undefined) throw new Error(`${name}: "${left.title}" did not have an effect.`);
  }
  return count;
}
