/** The services of people and their sessions, with passwords that are hashed cheaply. */
import { MemberService } from "../../api/members/service.ts";
import type { UserPasswords } from "../../api/passwords/hashing.ts";
import { Attempts, DeviceCookies } from "../../api/sessions/attempts.ts";
import { AuthLibrary, librarySettings } from "../../api/sessions/better-auth.ts";
import { Passkeys } from "../../api/sessions/passkeys.ts";
import { PasswordRules } from "../../api/sessions/password-rules.ts";
import { PasswordResets } from "../../api/sessions/resets.ts";
import { SecondFactors } from "../../api/sessions/second-factor.ts";
import { SessionService } from "../../api/sessions/service.ts";
import { UserService } from "../../api/sessions/users.ts";
import { WINDOWS } from "../../shared/budgets.ts";
import type { TestPostgres } from "./postgres.ts";

const SECRET = "a secret of this test, long enough";

export class SessionServices {
  /** The passwords that were hashed, to be stored or compared. */
  readonly hashed: string[] = [];
  readonly users: UserService;
  readonly resets: PasswordResets;
  readonly members: MemberService;
  readonly sessions: SessionService;
  readonly factors: SecondFactors;
  readonly passkeys: Passkeys;

  constructor(
    { sql }: TestPostgres,
    correctPasswords: { limit: number; seconds: number } = WINDOWS.correct_passwords,
  ) {
    const passwords: UserPasswords = {
      hashForUser: (password) => {
        this.hashed.push(password);
        return Bun.password.hash(password, { algorithm: "bcrypt", cost: 4 });
      },
      verifyForUser: (password, hash) => {
        this.hashed.push(password);
        return Bun.password.verify(password, hash);
      },
    };
    const library = new AuthLibrary(librarySettings(sql, passwords, "http://localhost", SECRET));
    const rules = new PasswordRules();
    const devices = new DeviceCookies(SECRET, false);
    const attempts = new Attempts(sql, SECRET, devices, correctPasswords);
    this.users = new UserService(sql, library, rules);
    this.resets = new PasswordResets(sql, attempts, passwords, rules);
    this.members = new MemberService(sql, this.users);
    this.sessions = new SessionService(sql, library, attempts, rules, undefined);
    this.factors = new SecondFactors(sql, library, attempts);
    this.passkeys = new Passkeys(sql, library, attempts, rules);
  }
}
