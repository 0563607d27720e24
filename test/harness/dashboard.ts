/** Users of the dashboard, and their sessions as a browser has them. */
import { admin } from "./admin.ts";
import { type ApiResponse, call } from "./api.ts";
import type { Stack } from "./stack.ts";

export type TestUser = { email: string; password: string; id: string };

let createdUsers = 0;
let sentRequests = 0;

/** Creates a user; with `account`, as a member of it. */
export async function createUser(
  stack: Stack,
  account?: string,
  role = "owner",
): Promise<TestUser> {
  const email = `person-${++createdUsers}@example.com`;
  const { id, password } = await admin<{ id: string; password: string }>(stack, [
    "users",
    "create",
    "--email",
    email,
    "--name",
    `Person ${createdUsers}`,
    ...(account === undefined ? [] : ["--account", account, "--role", role]),
  ]);
  return { email, password, id };
}

type RequestOptions = { method?: string; body?: unknown; headers?: Record<string, string> };

export type Session = {
  cookie: string;
  /** Sends a request as the dashboard's page does. */
  send(path: string, options?: RequestOptions): Promise<ApiResponse>;
};

/** Headers that a browser adds to a request of the dashboard's page. */
export const browserHeaders = (stack: Stack): Record<string, string> => ({
  origin: stack.info().dashboard_url,
  "sec-fetch-site": "same-origin",
  // A different client address each time: tests of limits by address set their own.
  "x-forwarded-for": `10.1.${++sentRequests >> 8}.${sentRequests & 255}`,
});

export function createSession(stack: Stack, cookie: string): Session {
  return {
    cookie,
    send: (path, { method, body, headers = {} } = {}) =>
      call(`${stack.info().dashboard_url}${path}`, {
        ...(method === undefined ? {} : { method }),
        ...(body === undefined ? {} : { body }),
        headers: { cookie, ...browserHeaders(stack), ...headers },
      }),
  };
}

/** Returns the response's session cookie as a browser sends it back; undefined if there is none. */
export function readSessionCookie({ headers }: ApiResponse): string | undefined {
  const [cookie] = headers.getSetCookie();
  const pair = cookie?.split(";")[0];
  return pair === undefined || pair.endsWith("=") ? undefined : pair;
}

/** Attempts to sign in. */
export const trySignIn = (
  stack: Stack,
  { email, password }: Pick<TestUser, "email" | "password">,
  headers: Record<string, string> = {},
): Promise<ApiResponse> =>
  call(`${stack.info().dashboard_url}/auth/sign-in`, {
    body: { email, password },
    headers: { ...browserHeaders(stack), ...headers },
  });

export async function signIn(stack: Stack, user: TestUser): Promise<Session> {
  const response = await trySignIn(stack, user);
  const cookie = readSessionCookie(response);
  if (cookie === undefined) throw new Error(`Not signed in: ${JSON.stringify(response.body)}`);
  return createSession(stack, cookie);
}
