/** Schema changes, whatever the database: numbered steps that are only ever added. */

export type Migration = { id: number; name: string; text: string };

/** A step as a database remembers it. */
export type AppliedMigration = { id: number; checksum: string };

/** SHA-256 of a step's text. */
export const checksumOf = (migration: Migration): string =>
  new Bun.CryptoHasher("sha256").update(migration.text).digest("hex");

/** The steps still to be applied, in order. Throws when an applied one no longer reads as it did. */
export function pendingMigrations<Step extends Migration>(
  migrations: readonly Step[],
  applied: readonly AppliedMigration[],
): Step[] {
  const checksums = new Map(applied.map(({ id, checksum }) => [id, checksum]));
  return migrations.filter((migration) => {
    const known = checksums.get(migration.id);
    if (known !== undefined && known !== checksumOf(migration)) {
      throw new Error(
        `Migration ${migration.id} (${migration.name}) changed after it was applied.`,
      );
    }
    return known === undefined;
  });
}
