/** The services of people and their sessions, with passwords that are hashed cheaply. */
import { createMemberService } from "../../api/members/service.ts";
import { Attempts } from "../../api/sessions/attempts.ts";
import { openAuthLibrary } from "../../api/sessions/better-auth.ts";
import { DeviceCookies } from "../../api/sessions/device-cookie.ts";
import { createPasswordStrength } from "../../api/sessions/password-strength.ts";
import { PasswordResets } from "../../api/sessions/resets.ts";
import { createSessionService } from "../../api/sessions/service.ts";
import { createUserService } from "../../api/sessions/users.ts";
import { WINDOWS } from "../../shared/budgets.ts";
import type { TestPostgres } from "./postgres.ts";

const SECRET = "a secret of this test, long enough";

export type SessionServices = ReturnType<typeof openSessionServices>;

/** `hashed` has the passwords that were hashed, to be stored or compared. */
export function openSessionServices(
  { sql }: TestPostgres,
  correctPasswords: { limit: number; seconds: number } = WINDOWS.correct_passwords,
) {
  const hashed: string[] = [];
  const hashForUser = (password: string) => {
    hashed.push(password);
    return Bun.password.hash(password, { algorithm: "bcrypt", cost: 4 });
  };
  const verifyForUser = (password: string, hash: string) => {
    hashed.push(password);
    return Bun.password.verify(password, hash);
  };
  const passwords = { hashForUser, verifyForUser };
  const library = openAuthLibrary(sql, passwords, "http://localhost", SECRET);
  const requireStrongPassword = createPasswordStrength();
  const users = createUserService({ sql, library, requireStrongPassword });
  const attempts = new Attempts(sql, SECRET, correctPasswords);
  const devices = new DeviceCookies(SECRET, false);
  return {
    hashed,
    users,
    resets: new PasswordResets(sql, attempts, hashForUser, requireStrongPassword),
    members: createMemberService({ sql, users }),
    sessions: createSessionService({ sql, library, attempts, devices, requireStrongPassword }),
  };
}
