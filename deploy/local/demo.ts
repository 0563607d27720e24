/** The account that the stack is tried out with. */
import { join } from "node:path";

import * as z from "zod";

import { PROJECT_DIR } from "./config.ts";
import { BUN, type StackFile } from "./stack.ts";

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
  const child = Bun.spawn(
    [
      BUN,
      join(PROJECT_DIR, "api/admin/main.ts"),
      "accounts",
      "create",
      "--name",
      "Demo",
      "--plan",
      "business",
      "--key",
      "--json",
    ],
    { env: { ...process.env, DATABASE_URL: databaseUrl }, stdout: "pipe", stderr: "inherit" },
  );
  const [text, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  if (code !== 0) throw new Error(`The demo account could not be made (exit code ${code}).`);
  return createdAccount.parse(JSON.parse(text)).key;
}

/** What to show when everything runs. */
export const banner = (stack: Pick<StackFile, "api_url" | "short_url" | "api_key">): string => `
  Shorthop is ready.

    API           ${stack.api_url}/v1
    Short links   ${stack.short_url}
    Demo key      ${stack.api_key}

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
