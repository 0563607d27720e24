/**
 * Goal: tools that we did not write find nothing wrong with the API's document on a real stack, and
 * with the packed client, but what is explained here. The tools are installed from the registry of
 * npm into a temporary folder, so that nobody else needs them.
 */
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import { createAccount, createKey, UNLIMITED } from "../harness/admin.ts";
import { dirForFile, forFile } from "../harness/for-file.ts";
import { FIRST_HOUR, installClient, run } from "../harness/packed-client.ts";
import { startStack } from "../harness/stack.ts";

/** Exact versions, so that a run can be repeated. */
const TOOLS = {
  "@stoplight/spectral-cli": "6.16.3",
  "@stoplight/spectral-owasp-ruleset": "2.0.1",
  "@apidevtools/swagger-parser": "13.1.0",
  "@hey-api/openapi-ts": "0.99.0",
  "swagger-typescript-api": "13.13.0",
  "@arethetypeswrong/cli": "0.18.5",
  publint: "0.3.25",
  typescript: "5.9.3",
  deno: "2.9.6",
};

/** What Spectral has to say: its rule, where, and what. */
type Finding = { rule: string; place: string; message: string };

/** Findings that stay, and why; `place` matches those that it explains, all when left out. */
type Explanation = { rule: string; place?: RegExp; reason: string };

/** Statistics that are shared by a URL. */
const SHARED = /^paths\.\/v1\/shared\//;

const EXPLAINED: readonly Explanation[] = [
  {
    rule: "owasp:api8:2023-no-server-http",
    reason: "the stack of the test is on loopback; an installation's URL is the one of `API_URL`",
  },
  {
    rule: "owasp:api8:2023-define-cors-origin",
    reason:
      "no origin may call the API from a page unless the operator allows it, so that no response has the header by default",
  },
  {
    rule: "owasp:api4:2023-rate-limit",
    reason:
      "the rule wants one family of headers and every response has two: X-RateLimit-*, which are specified, and RateLimit of the IETF's draft",
  },
  {
    rule: "owasp:api4:2023-array-limit",
    reason:
      "the rule protects a server from long input, and every list of a request has a bound; these are lists of responses",
  },
  {
    rule: "owasp:api4:2023-string-limit",
    place:
      /responses|components\.(?:headers|schemas\.(?!New|LinkChange|LinkUpsert|LinkDeletions|MergeTagsRequest|BulkAnalyticsQuery))/,
    reason:
      "the rule protects a server from long input; these are texts of responses, which the service bounds where it stores them",
  },
  {
    rule: "owasp:api4:2023-string-limit",
    place:
      /schemas\.(?:BulkAnalyticsQuery\.properties\.link_ids|LinkDeletions|(?:LinkChangeOfMany\.properties\.id|NewShare\.properties\.link_id)$)/,
    reason: "a body has 1 MiB and 100 ids at most; an id of any length that is none is not found",
  },
  {
    rule: "owasp:api4:2023-string-limit",
    place: /(?:expires_at|starts_at|until)$|links\.get\.parameters/,
    reason: "the format date-time, which the API checks, leaves no room for a long text",
  },
  ...["no-credentials-in-url", "read-restricted", "write-restricted"].map((rule) => ({
    rule: `owasp:api2:2023-${rule}`,
    place: SHARED,
    reason:
      "a share is a URL for people without an account: its random token lets read sums, and its owner can revoke it",
  })),
  {
    rule: "owasp:api8:2023-define-error-responses-401",
    place: SHARED,
    reason: "no key is asked for; a wrong password is 403",
  },
  {
    rule: "owasp:api7:2023-concerning-url-parameter",
    place: /^paths\.\/v1\/links\/lookup\.get\./,
    reason:
      "the short URL is looked up among the account's links, and nothing is requested from it",
  },
  {
    rule: "owasp:api4:2023-string-restricted",
    reason:
      "free text in any language has no pattern: titles, searches, names, messages. Control characters are rejected, lengths are bounded, and values are always bound in statements and escaped in output",
  },
];

/**
 * Its rules for OpenAPI, and those of OWASP's API Security Top 10. One of the latter is replaced:
 * it fails as a whole on any object with a name and a list called `in`, as an example of our rules
 * has, and looks for the parameter's name within the name, where there is none.
 */
const RULES = {
  extends: ["spectral:oas", "@stoplight/spectral-owasp-ruleset"],
  rules: {
    "owasp:api2:2023-no-credentials-in-url": {
      message: "A parameter in the URL may be a credential: {{value}}.",
      severity: "error",
      given: "$..parameters[?(@ && (@.in === 'query' || @.in === 'path'))]",
      // oxlint-disable-next-line unicorn/no-thenable -- Spectral calls it so.
      then: {
        field: "name",
        function: "pattern",
        functionOptions: {
          notMatch: "/^.*(client_?secret|token|password|secret|api-?key).*$/i",
        },
      },
    },
  },
};

const dir = dirForFile("shorthop-conformance-");
const client = await forFile(installClient(), (installed) =>
  rmSync(installed.dir, { recursive: true, force: true }),
);
const stack = await forFile(startStack());
const { api_url: url } = stack.info();
writeFileSync(join(dir, "openapi.json"), await (await fetch(`${url}/v1/openapi.json`)).text());
writeFileSync(join(dir, "package.json"), JSON.stringify({ private: true, dependencies: TOOLS }));
// Deno's own installation step only links its program, which is found without it.
const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
run(["npm", "install", ...options], dir);

const toolPath = (name: string): string => join(dir, "node_modules/.bin", name);

/** Runs a program of the tools; throws what it printed when it fails. */
const runTool = (name: string, args: string[], env: Record<string, string> = {}): string =>
  run([toolPath(name), ...args], dir, { NO_COLOR: "1", ...env });

const results = z.array(
  z.object({
    code: z.string(),
    message: z.string(),
    path: z.array(z.union([z.string(), z.number()])),
  }),
);

function lint(): Finding[] {
  writeFileSync(join(dir, ".spectral.json"), JSON.stringify(RULES));
  const args = ["lint", "openapi.json", "--ruleset", ".spectral.json", "--format", "json"];
  // It fails when it finds anything.
  const spectral = [toolPath("spectral"), ...args, "--quiet", "--output", "spectral.json"];
  Bun.spawnSync(spectral, { cwd: dir });
  return results
    .parse(JSON.parse(readFileSync(join(dir, "spectral.json"), "utf8")))
    .map(({ code, message, path }) => ({ rule: code, place: path.join("."), message }));
}

const explains = ({ rule, place }: Explanation, finding: Finding): boolean =>
  rule === finding.rule && (place === undefined || place.test(finding.place));

test("Spectral finds what is explained, and nothing else", () => {
  const findings = lint();
  const unexplained = findings.filter((one) => !EXPLAINED.some((known) => explains(known, one)));
  expect(unexplained).toEqual([]);
  const unneeded = EXPLAINED.filter((known) => !findings.some((one) => explains(known, one)));
  expect(unneeded).toEqual([]);
});

test("the document is valid, and every reference in it leads somewhere", () => {
  const program = `import parser from "@apidevtools/swagger-parser";
    await parser.validate("openapi.json");`;
  writeFileSync(join(dir, "validate.mjs"), program);
  run(["node", "validate.mjs"], dir);
});

const COMPILER = ["--strict", "--noEmit", "--skipLibCheck", "--lib", "ES2023,DOM,DOM.Iterable"];

test.each([
  ["openapi-ts", ["--input", "openapi.json", "--output", "hey-api"], "hey-api/index.ts"],
  [
    "swagger-typescript-api",
    ["generate", "--path", "openapi.json", "--output", "sta", "--name", "api.ts", "--silent"],
    "sta/api.ts",
  ],
])("%s generates a client that strict types accept", (generator, args, entry) => {
  mkdirSync(join(dir, entry, ".."), { recursive: true });
  runTool(generator, args);
  runTool("tsc", [...COMPILER, "--target", "ES2022", "--module", "Preserve", entry]);
});

test("the packed client is right for publint and attw", () => {
  runTool("publint", ["run", client.tarball, "--strict"]);
  runTool("attw", [client.tarball, "--no-emoji"]);
});

test("the client's first program runs on Deno", async () => {
  const { id } = await createAccount(stack, "enterprise", UNLIMITED);
  const scopes = "links:read,links:write,links:delete,analytics:read";
  const { key } = await createKey(stack, id, scopes, { type: "test" });
  const program = join(client.dir, FIRST_HOUR);
  const args = ["run", "--allow-all", "--node-modules-dir=manual", program];
  runTool("deno", args, { SHORTHOP_URL: url, SHORTHOP_KEY: key });
});
