/** The place of backups: an option of the commands, or a setting of `migrate.env`. */
import { InvalidArgumentError } from "commander";
import * as z from "zod";

import { loadConfig } from "../../../shared/env.ts";
import { s3Variables } from "../../../shared/s3.ts";
import { isPlace, openStorage, type Storage } from "./storage.ts";

export const DEFAULT_PLACE = "/var/backups/shorthop";

const settings = z.object({
  BACKUP_PLACE: z
    .string()
    .refine(isPlace, "must be an absolute path or s3://bucket/prefix")
    .default(DEFAULT_PLACE),
  ...s3Variables,
});

/** Opens a place, by default that of the environment. */
export function openPlace(
  env: Record<string, string | undefined>,
  place: string | undefined,
): Storage {
  const { BACKUP_PLACE, ...s3 } = loadConfig(settings, env);
  return openStorage(place ?? BACKUP_PLACE, s3);
}

/** Parses an option. */
export function parsePlace(text: string): string {
  if (isPlace(text)) return text;
  throw new InvalidArgumentError("It must be an absolute path or s3://bucket/prefix.");
}
