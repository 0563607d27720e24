/**
 * `bun run test:scenarios conformance`: tools that we did not write judge the API's document on a
 * real stack, and the packed client. Prints all findings; exits with 1 for one that `explained.ts`
 * does not explain. Needs a package registry.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createAccount, createKey, UNLIMITED } from "../harness/admin.ts";
import { installClient } from "../harness/packed-client.ts";
import { startStack } from "../harness/stack.ts";
import { EXPLAINED, explains } from "./explained.ts";
import { failureOf, type Finding, generateClients, installTools, lint, validate } from "./tools.ts";

const SCOPES = "links:read,links:write,links:delete,analytics:read";
const dir = mkdtempSync(join(tmpdir(), "shorthop-conformance-"));
const findings: Finding[] = [];

/** Runs a check and prints how many findings it has. */
function check(name: string, work: () => Finding[]): void {
  const start = performance.now();
  const found = work();
  findings.push(...found);
  const seconds = ((performance.now() - start) / 1_000).toFixed(1);
  console.log(`${name}: ${found.length} findings (${seconds} s)`);
}

const run = installTools(dir);
const { dir: clientDir, tarball } = await installClient();
try {
  await using stack = await startStack();
  const url = stack.info().api_url;
  writeFileSync(join(dir, "openapi.json"), await (await fetch(`${url}/v1/openapi.json`)).text());
  check("Spectral, rules for OpenAPI and of OWASP", () => lint(dir, run));
  check("swagger-parser", () => validate(dir));
  check("two client generators, under strict TypeScript", () => generateClients(dir, run));
  check("publint", () => failureOf("publint", run("publint", ["run", tarball, "--strict"])));
  check("attw", () => failureOf("attw", run("attw", [tarball, "--no-emoji"])));
  const { id } = await createAccount(stack, "enterprise", UNLIMITED);
  const { key } = await createKey(stack, id, SCOPES, { type: "test" });
  check("the client's first program on Deno", () => {
    const args = [
      "run",
      "--allow-all",
      "--node-modules-dir=manual",
      join(clientDir, "first-hour.mjs"),
    ];
    return failureOf("deno", run("deno", args, { SHORTHOP_URL: url, SHORTHOP_KEY: key }));
  });
} finally {
  rmSync(dir, { recursive: true, force: true });
  rmSync(clientDir, { recursive: true, force: true });
}

const unexplained = findings.filter(
  (finding) => !EXPLAINED.some((explanation) => explains(explanation, finding)),
);
for (const explanation of EXPLAINED) {
  const count = findings.filter((finding) => explains(explanation, finding)).length;
  console.log(`\nexplained ${count} × ${explanation.rule}\n  ${explanation.reason}`);
  if (count === 0) {
    unexplained.push({
      tool: "explained.ts",
      rule: explanation.rule,
      place: "",
      message: "not needed",
    });
  }
}
for (const { tool, rule, place, message } of unexplained) {
  console.log(`\nUNEXPLAINED ${tool} ${rule} ${place}\n  ${message}`);
}
console.log(`\n${findings.length} findings, ${unexplained.length} unexplained`);
process.exitCode = unexplained.length === 0 ? 0 : 1;
