/**
 * `bun run test:scenarios dev-loop`: measures the delay until a code change is visible in `bun run
 * dev`, without a manual restart. Works on a copy of the project. Exits with 1 if one of the three
 * changes takes too long.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { chromiumPath, openBrowser, openSignIn } from "./harness/browser.ts";
import { eventually } from "./harness/eventually.ts";
import { copyProject } from "./harness/mutations.ts";
import { PROJECT_DIR, startStack } from "./harness/stack.ts";

/** Maximum delay of a change. */
const VISIBLE_WITHIN_MS = 3_000;

/** Longer delays are measured up to this. */
const MEASURE_TIMEOUT_MS = 60_000;

const TYPED = "half@typed";

const root = copyProject(PROJECT_DIR);

/** Replaces text in a file of the copy; throws if it is not there. */
function replaceText(file: string, from: string, to: string): void {
  const path = join(root, file);
  const text = readFileSync(path, "utf8");
  if (!text.includes(from)) throw new Error(`"${from}" is not in ${file}.`);
  writeFileSync(path, text.replaceAll(from, to));
}

/** Applies a change; returns the milliseconds until `isVisible`. */
async function measure(apply: () => void, isVisible: () => Promise<boolean>): Promise<number> {
  const start = performance.now();
  apply();
  await eventually(async () => {
    if (!(await isVisible())) throw new Error("The change is not visible.");
  }, MEASURE_TIMEOUT_MS);
  return performance.now() - start;
}

const readBody = async (url: string): Promise<string> => await (await fetch(url)).text();

const results: [name: string, ms: number][] = [];
try {
  await using stack = await startStack({ root, args: ["--watch"] });
  const { short_url, api_url } = stack.info();

  results.push([
    "page of the redirector",
    await measure(
      () =>
        replaceText(
          "shared/languages/en.json",
          "There is no link at this address.",
          "Visible at once.",
        ),
      async () => (await readBody(`${short_url}/no-such-link`)).includes("Visible at once."),
    ),
  ]);
  results.push([
    "message of the API",
    await measure(
      () => replaceText("api/http/errors.ts", "does not exist.", "is nowhere to be found."),
      async () => (await readBody(`${api_url}/v1/nothing`)).includes("is nowhere to be found."),
    ),
  ]);

  if (chromiumPath !== undefined) {
    const browser = await openBrowser();
    const { page } = await openSignIn(browser, stack);
    const field = page.getByLabel("E-mail address");
    await field.fill(TYPED);
    results.push([
      "style of the dashboard",
      await measure(
        () =>
          writeFileSync(
            join(root, "dashboard/src/styles/layout.css"),
            `${readFileSync(join(root, "dashboard/src/styles/layout.css"), "utf8")}\nbody { outline: 7px solid; }\n`,
          ),
        async () =>
          // As a string: it runs in the page, and this file has no DOM types.
          (await page.evaluate<string>("getComputedStyle(document.body).outlineWidth")) === "7px",
      ),
    ]);
    const retained = (await field.inputValue()) === TYPED;
    console.log(`the text typed into the page is ${retained ? "retained" : "LOST"}`);
    await browser.close();
  }
} finally {
  rmSync(root, { recursive: true, force: true });
}

for (const [name, ms] of results) console.log(`${name}\t${(ms / 1_000).toFixed(2)} s`);
process.exit(results.every(([, ms]) => ms <= VISIBLE_WITHIN_MS) ? 0 : 1);
