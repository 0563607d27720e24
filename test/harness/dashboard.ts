/** Users of the dashboard, and their sessions as a browser has them. */
import { randomBytes } from "node:crypto";

import { MemberService } from "../../api/members/service.ts";
import { UserService } from "../../api/sessions/users.ts";
import { parseId } from "../../cli/arguments.ts";
import type { Role } from "../../shared/contracts/users.ts";
import { encodeId } from "../../shared/ids.ts";
import { withPostgres } from "./admin.ts";
import { type ApiResponse, call } from "./api.ts";
import type { SharedStack } from "./stack.ts";

export type TestUser = { email: string; password: string; id: string };

let createdUsers = 0;
let sentRequests = 0;

/**
 * Creates a user, as the command `users create` does, but within this process; with `account`, as a
 * member of it.
 */
export async function createUser(
  stack: SharedStack,
  account?: string,
  role: Role = "owner",
): Promise<TestUser> {
  const name = `Person ${++createdUsers}`;
  const email = `person-${createdUsers}-${randomBytes(4).toString("hex")}@example.com`;
  const password = randomBytes(18).toString("base64url");
  const id = await withPostgres(stack, async (sql) => {
    const users = UserService.forOperators(sql);
    const id = await users.create({ email, name, password });
    await users.markVerified(id);
    return encodeId("user", id);
  });
  const user = { email, password, id };
  if (account !== undefined) await joinAccount(stack, account, user, role);
  return user;
}

/** Makes a user a member of an account, as the command `users join` does. */
export const joinAccount = (
  stack: SharedStack,
  account: string,
  user: TestUser,
  role: Role,
): Promise<void> =>
  withPostgres(stack, (sql) =>
    new MemberService(sql, UserService.forOperators(sql)).add(
      parseId("acct")(account),
      parseId("user")(user.id),
      role,
    ),
  );

type RequestOptions = { method?: string; body?: unknown; headers?: Record<string, string> };

/** Headers that a browser adds to a request of the dashboard's page. */
export const browserHeaders = (stack: SharedStack): Record<string, string> => ({
  origin: stack.info().dashboard_url,
  "sec-fetch-site": "same-origin",
  // A different client address each time: tests of limits by address set their own.
  "x-forwarded-for": `10.1.${++sentRequests >> 8}.${sentRequests & 255}`,
});

/** A session of the dashboard, as a browser with its cookie has it. */
export class Session {
  readonly #stack: SharedStack;
  readonly cookie: string;

  constructor(stack: SharedStack, cookie: string) {
    this.#stack = stack;
    this.cookie = cookie;
  }

  /** Sends a request as the dashboard's page does. */
  send(path: string, { method, body, headers = {} }: RequestOptions = {}): Promise<ApiResponse> {
    return call(`${this.#stack.info().dashboard_url}${path}`, {
      ...(method === undefined ? {} : { method }),
      ...(body === undefined ? {} : { body }),
      headers: { cookie: this.cookie, ...browserHeaders(this.#stack), ...headers },
    });
  }
}

/** Returns the response's session cookie as a browser sends it back; undefined if there is none. */
export function readSessionCookie({ headers }: ApiResponse): string | undefined {
  const [cookie] = headers.getSetCookie();
  const pair = cookie?.split(";")[0];
  return pair === undefined || pair.endsWith("=") ? undefined : pair;
}

/** Attempts to sign in. */
export const trySignIn = (
  stack: SharedStack,
  { email, password }: Pick<TestUser, "email" | "password">,
  headers: Record<string, string> = {},
): Promise<ApiResponse> =>
  call(`${stack.info().dashboard_url}/auth/sign-in`, {
    body: { email, password },
    headers: { ...browserHeaders(stack), ...headers },
  });

export async function signIn(stack: SharedStack, user: TestUser): Promise<Session> {
  const response = await trySignIn(stack, user);
  const cookie = readSessionCookie(response);
  if (cookie === undefined) throw new Error(`Not signed in: ${JSON.stringify(response.body)}`);
  return new Session(stack, cookie);
}
