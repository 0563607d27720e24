/** Schema migrations for any database: numbered, and never changed or removed. */

export type Migration = {
  id: number;
  name: string;
  text: string;
};

/** A migration as the database records it. */
export type AppliedMigration = { id: number; checksum: string };

/** SHA-256 of a migration's text. */
export const checksumOf = (migration: Migration): string =>
  new Bun.CryptoHasher("sha256").update(migration.text).digest("hex");

/**
 * Returns the migrations that are not applied yet, in order. Throws when the text of an applied one
 * has changed.
 */
export function pendingMigrations<Step extends Migration>(
  migrations: readonly Step[],
  applied: readonly AppliedMigration[],
): Step[] {
  const checksums = new Map(applied.map(({ id, checksum }) => [id, checksum]));
  return migrations.filter((migration) => {
    const known = checksums.get(migration.id);
    if (known === undefined) return true;
    if (known !== checksumOf(migration)) {
      throw new Error(
        `Migration ${migration.id} (${migration.name}) changed after it was applied.`,
      );
    }
    return false;
  });
}
