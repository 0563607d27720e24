/** The users of the dashboard, for operators. */
import { randomBytes } from "node:crypto";

import { PasswordHashing } from "../passwords/hashing.ts";
import type { Sql } from "../postgres.ts";
import { openAuthLibrary } from "./better-auth.ts";
import { createPasswordStrength } from "./password-strength.ts";
import { createUserService } from "./users.ts";

/**
 * Opens the user service. Operators create no sessions, so better-auth gets a placeholder URL and a
 * random secret.
 */
export const openUsers = (sql: Sql) =>
  createUserService({
    sql,
    library: openAuthLibrary(
      sql,
      new PasswordHashing(),
      "http://localhost",
      randomBytes(32).toString("hex"),
    ),
    requireStrongPassword: createPasswordStrength(),
  });
