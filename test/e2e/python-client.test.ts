/** Goal: the Python client does on a real stack what it says, blocking and asynchronously. */
import { expect, test } from "bun:test";
import { join } from "node:path";

import { PACKAGE } from "../../clients/python/generate.ts";
import { createClient } from "../../clients/typescript/src/index.ts";
import { createAccount, UNLIMITED } from "../harness/admin.ts";
import { forFile } from "../harness/for-file.ts";
import { PYTHON } from "../harness/python.ts";
import { useStack } from "../harness/stack.ts";

/** Some pages of a list. */
const LINKS = 1_000;
const TAG = "python";

const stack = await forFile(useStack());

test.skipIf(PYTHON === undefined)("every resource works, and lists go on over pages", async () => {
  const { key } = await createAccount(stack, "enterprise", UNLIMITED);
  const { api_url: baseUrl } = stack.info();
  const links = Array.from({ length: LINKS }, (_, i) => ({
    url: `https://example.com/${i}`,
    tags: [TAG],
  }));
  await createClient({ baseUrl, apiKey: key }).links.createMany(links);
  const child = Bun.spawn([PYTHON ?? "", join(import.meta.dir, "clients/python_client.py")], {
    env: {
      ...process.env,
      PYTHONPATH: join(PACKAGE, ".."),
      PYTHONDONTWRITEBYTECODE: "1",
      API_URL: baseUrl,
      KEY: key,
      TAG,
      LINKS: String(LINKS),
    },
    stdout: "pipe",
    stderr: "pipe",
  });
  const output =
    (await new Response(child.stdout).text()) + (await new Response(child.stderr).text());
  expect([await child.exited, output]).toEqual([0, expect.stringContaining("done")]);
});
