/** The account that the stack is tried out with. */
import * as z from "zod";

import { runScript } from "./script.ts";
import type { StackFile, StackUrls } from "./stack.ts";

const createdAccount = z.object({ key: z.string() });

/** Whether the API takes the key: one of an earlier start may be of another database. */
export async function keyWorks(apiUrl: string, key: string): Promise<boolean> {
  const answer = await fetch(`${apiUrl}/v1/limits`, {
    headers: { authorization: `Bearer ${key}` },
  });
  // A key that has used up its limits is still a key.
  return answer.ok || answer.status === 429;
}

/** Opens the demo account and gives its key, by the operator's command line. */
export async function createDemoKey(databaseUrl: string): Promise<string> {
  const create = ["accounts", "create", "--name", DEMO, "--plan", "business", "--key", "--json"];
  return createdAccount.parse(JSON.parse(await admin(databaseUrl, create))).key;
}

/** Makes sure that the demo user can sign in, to the account of that name. */
export async function prepareDemoUser(
  urls: Pick<StackUrls, "database" | "dashboard">,
  password: string,
): Promise<void> {
  if (await canSignIn(urls.dashboard, password)) return;
  const email = ["--email", DEMO_EMAIL];
  const withPassword = [...email, "--password-stdin", "--json"];
  const users = userList.parse(JSON.parse(await admin(urls.database, ["users", "list", "--json"])));
  if (users.some((user) => user.email === DEMO_EMAIL)) {
    await admin(urls.database, ["users", "set-password", ...withPassword], password);
  } else {
    await admin(urls.database, ["users", "create", "--name", DEMO, ...withPassword], password);
  }
  const accounts = accountList.parse(
    JSON.parse(await admin(urls.database, ["accounts", "list", "--json"])),
  );
  for (const { id } of accounts.filter(({ name }) => name === DEMO)) {
    await admin(urls.database, ["users", "join", ...email, "--account", id]);
  }
}

const DEMO = "Demo";

export const DEMO_EMAIL = "demo@example.com";

const userList = z.array(z.object({ email: z.string() }));
const accountList = z.array(z.object({ id: z.string(), name: z.string() }));

async function canSignIn(dashboardUrl: string, password: string): Promise<boolean> {
  const answer = await fetch(`${dashboardUrl}/auth/sign-in`, {
    method: "POST",
    headers: { origin: dashboardUrl, "content-type": "application/json" },
    body: JSON.stringify({ email: DEMO_EMAIL, password }),
  });
  return answer.ok;
}

/** What a command of the operator's command line prints. */
const admin = (databaseUrl: string, words: string[], input = ""): Promise<string> =>
  runScript("api/admin/main.ts", words, { env: { DATABASE_URL: databaseUrl }, input });

/** What to show when everything runs. */
export const banner = (stack: Omit<StackFile, "pids">): string => `
  Shorthop is ready.

    API           ${stack.api_url}/v1
    Short links   ${stack.short_url}
    Demo key      ${stack.api_key}
    Dashboard     ${stack.dashboard_url}
                  sign in as ${stack.dashboard_email}, password ${stack.dashboard_password}

  Make a short link:

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
