/** The demo account and user. */
import type { DemoProvider } from "./provider.ts";
import type { StackFile } from "./stack.ts";

/** Attempts to have the API check the key, which needs PostgreSQL, and the pause between two. */
const ATTEMPTS_MAX = 60;
const RETRY_MS = 500;

/** Whether the API accepts the key, which may be of another database. Throws if it cannot say. */
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
  throw new Error(
    `The API does not say whether the demo key is valid: it responds with ${status}.`,
  );
}

export const DEMO_EMAIL = "demo@example.com";

/** Whether the demo user can sign in; the password may be of another database. */
export async function canSignIn(dashboardUrl: string, password: string): Promise<boolean> {
  const response = await fetch(`${dashboardUrl}/auth/sign-in`, {
    method: "POST",
    headers: { origin: dashboardUrl, "content-type": "application/json" },
    body: JSON.stringify({ email: DEMO_EMAIL, password }),
  });
  return response.ok;
}

/** The text printed when the stack is ready; `provider` is one to sign in with. */
export const banner = (
  stack: Omit<StackFile, "pids">,
  provider: DemoProvider | undefined,
): string => `
  Shorthop is ready.

    API           ${stack.api_url}/v1
    Short links   ${stack.short_url}
    Live key      ${stack.api_key}
    Test key      ${stack.test_api_key}
    Dashboard     ${stack.dashboard_url}
                  sign in as ${stack.dashboard_email}, password ${stack.dashboard_password}${describeProvider(stack, provider)}

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

const describeProvider = (
  { dashboard_password }: Omit<StackFile, "pids">,
  provider: DemoProvider | undefined,
): string =>
  provider === undefined
    ? ""
    : `
    Provider      ${provider.issuer}
                  sign in as ${provider.email}, password ${dashboard_password}`;
