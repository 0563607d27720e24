/** The demo account and user. */
import * as z from "zod";

import type { RunScript } from "./run-script.ts";
import type { StackFile, StackUrls } from "./stack.ts";

const createdAccount = z.object({ key: z.string() });

/** Attempts to have the API judge the key, which needs PostgreSQL, and the pause between two. */
const ATTEMPTS_MAX = 60;
const RETRY_MS = 500;

/**
 * Whether the API accepts the key: one from an earlier start may belong to another database. Throws when the API cannot
 * say.
 */
export async function keyWorks(apiUrl: string, key: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${key}` };
  let status = 0;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    ({ status } = await fetch(`${apiUrl}/v1/limits`, { headers }));
    // A rate-limited key is valid.
    if (status === 200 || status === 429) return true;
    if (status === 401 || status === 403) return false;
    await Bun.sleep(RETRY_MS);
  }
  throw new Error(`The API does not say whether the demo key is valid: it answers ${status}.`);
}

/** Creates the demo account with the operator's command line; returns its key. */
export async function createDemoKey(runScript: RunScript, databaseUrl: string): Promise<string> {
  const create = ["accounts", "create", "--name", DEMO, "--plan", "business", "--key", "--json"];
  return createdAccount.parse(JSON.parse(await admin(runScript, databaseUrl, create))).key;
}

/** Ensures that the demo user exists with this password and is a member of the demo account. */
export async function prepareDemoUser(
  runScript: RunScript,
  urls: Pick<StackUrls, "database" | "dashboard">,
  password: string,
): Promise<void> {
  if (await canSignIn(urls.dashboard, password)) return;
  const run = (args: string[], input = "") => admin(runScript, urls.database, args, input);
  const email = ["--email", DEMO_EMAIL];
  const withPassword = [...email, "--password-stdin", "--json"];
  const users = userList.parse(JSON.parse(await run(["users", "list", "--json"])));
  if (users.some((user) => user.email === DEMO_EMAIL)) {
    await run(["users", "set-password", ...withPassword], password);
  } else {
    await run(["users", "create", "--name", DEMO, ...withPassword], password);
  }
  const accounts = accountList.parse(JSON.parse(await run(["accounts", "list", "--json"])));
  for (const { id } of accounts.filter(({ name }) => name === DEMO)) {
    await run(["users", "join", ...email, "--account", id]);
  }
}

const DEMO = "Demo";

export const DEMO_EMAIL = "demo@example.com";

const userList = z.array(z.object({ email: z.string() }));
const accountList = z.array(z.object({ id: z.string(), name: z.string() }));

async function canSignIn(dashboardUrl: string, password: string): Promise<boolean> {
  const response = await fetch(`${dashboardUrl}/auth/sign-in`, {
    method: "POST",
    headers: { origin: dashboardUrl, "content-type": "application/json" },
    body: JSON.stringify({ email: DEMO_EMAIL, password }),
  });
  return response.ok;
}

/** Runs the operator's command line; returns what it prints. */
const admin = (
  runScript: RunScript,
  databaseUrl: string,
  args: string[],
  input = "",
): Promise<string> =>
  runScript("api/cli/main.ts", args, { env: { DATABASE_URL: databaseUrl }, input });

/** The text printed when the stack is ready. */
export const banner = (stack: Omit<StackFile, "pids">): string => `
  Shorthop is ready.

    API           ${stack.api_url}/v1
    Short links   ${stack.short_url}
    Demo key      ${stack.api_key}
    Dashboard     ${stack.dashboard_url}
                  sign in as ${stack.dashboard_email}, password ${stack.dashboard_password}

  Create a short link:

    curl -X POST ${stack.api_url}/v1/links \\
      -H 'Authorization: Bearer ${stack.api_key}' \\
      -H 'Content-Type: application/json' \\
      -d '{"url": "https://example.com/hello", "alias": "hello"}'

  Follow it, then look at its clicks (LINK_ID is the "id" above):

    curl -i ${stack.short_url}/hello
    curl '${stack.api_url}/v1/analytics/LINK_ID?period=24h' \\
      -H 'Authorization: Bearer ${stack.api_key}'

  Ctrl-C stops everything; links and clicks are kept.
`;
