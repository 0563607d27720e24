/**
 * What a credential may do: the form of the tables that the tests try, and that docs/credentials.md
 * is made from.
 */

/** One thing to do, and who may do it. Every other user of the table must be refused. */
export type Right<User extends string> = {
  /** What it is, in Markdown. */
  what: string;
  may: readonly User[];
  /** Why those users may; empty where nobody may. */
  why: string;
};

/** Whether a user may do what a row of a table says. */
export const isAllowed = <User extends string>({ may }: Right<User>, user: User): boolean =>
  may.includes(user);

/** Words of a text, for lists that are long. */
export const words = (text: string): string[] => text.split(" ");

/** What was tried, and whether the server refused it. */
export type Attempt = { tried: string; refused: boolean };

/**
 * Tries every row of a table as a user; returns what the server refused although the row allows it,
 * and what it allowed although the row does not.
 */
export async function findDeviations<Row extends Right<string>>(
  user: Row["may"][number],
  rows: readonly Row[],
  attempt: (row: Row) => Promise<readonly Attempt[]>,
): Promise<string[]> {
  const deviations: string[] = [];
  for (const row of rows)
    for (const { tried, refused } of await attempt(row))
      if (refused === isAllowed(row, user))
        deviations.push(`${refused ? "refused" : "allowed"}: ${tried}`);
  return deviations;
}
