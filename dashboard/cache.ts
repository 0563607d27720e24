/** Where a build of the dashboard is kept until its sources change. */
import { join } from "node:path";

import { hashFiles } from "../shared/process-lock.ts";

/** Globs of all files that the build depends on. */
const SOURCES = [
  "dashboard/**/*",
  "shared/contracts/*.ts",
  "shared/statistics/*",
  "clients/typescript/src/*.ts",
  "clients/typescript/*.{json,md,mjs}",
  "package-lock.json",
];

/** The subfolder of `cache` for a build of the current sources. */
export const cachedFolder = (cache: string): string =>
  join(cache, hashFiles(join(import.meta.dir, ".."), SOURCES));
