/** When backups were made and proven. */

/** Times in Unix milliseconds; undefined when there is none. */
export type BackupTimes = {
  /** When the newest backup was made. */
  madeAt: number | undefined;
  /** When the newest backup was made that a drill has restored. */
  provenAt: number | undefined;
};
