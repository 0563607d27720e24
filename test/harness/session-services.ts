/** The services of people and their sessions, with cheap hashes of passwords; and browsers. */
import type { Session } from "../../api/http/principal.ts";
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
import { reasonOf } from "./outcomes.ts";
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

/** Networks that nobody has tried from yet. */
let networks = 0;

export const newNetwork = (): string => `198.51.${++networks >> 8}.${networks & 255}`;

/** Where requests come from, as the ledger has it. */
export const ORIGIN = { network: "198.51.100.0/24", request_id: "test" };

/** A browser of somebody, which keeps the cookies that it gets; each request is from elsewhere. */
export class Browser {
  readonly email: string;
  readonly cookies = new Map<string, string>();
  readonly #services: SessionServices;

  constructor(services: SessionServices, email: string) {
    this.#services = services;
    this.email = email;
  }

  /** What the services learn of a request. */
  get client() {
    const cookie = [...this.cookies].map((pair) => pair.join("=")).join("; ");
    return { address: newNetwork(), origin: ORIGIN, headers: new Headers({ cookie }) };
  }

  keep(set: readonly string[]): void {
    for (const cookie of set) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (/max-age=0/i.test(cookie)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
  }

  /** "in", "code" if one is needed, or the error's code. */
  async signIn(password: string): Promise<string> {
    const attempt = this.#services.sessions.signIn({ email: this.email, password }, this.client);
    return await attempt.then(({ cookies, needsCode }) => {
      this.keep(cookies);
      return needsCode ? "code" : "in";
    }, reasonOf);
  }

  session(): Promise<Session> {
    return this.#services.sessions.find(this.client.headers);
  }

  /** Whether a session is open. */
  isIn(): Promise<boolean> {
    return this.session().then(
      () => true,
      () => false,
    );
  }
}
