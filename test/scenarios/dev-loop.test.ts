/**
 * Goal: a code change is visible in `bun run dev` within seconds, without a manual restart. Method:
 * changes of a copy of the project.
 */
import { expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { chromiumPath, openBrowser, openSignIn } from "../harness/browser.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { copyProject } from "../harness/mutations.ts";
import { PROJECT_DIR, startStack } from "../harness/stack.ts";

/** Maximum delay of a change. */
const VISIBLE_WITHIN_MS = 3_000;

/** Longer delays are measured up to this. */
const MEASURE_TIMEOUT_MS = 60_000;

const TYPED = "half@typed";

const root = await forFile(copyProject(PROJECT_DIR), (copy) =>
  rmSync(copy, { recursive: true, force: true }),
);
const stack = await forFile(startStack({ root, args: ["--watch"] }));

/** Changes the text of a file of the copy. */
function edit(file: string, change: (text: string) => string): void {
  const path = join(root, file);
  const text = readFileSync(path, "utf8");
  expect(change(text)).not.toBe(text);
  writeFileSync(path, change(text));
}

/** Applies a change, and waits until it is visible. Throws when that takes too long. */
async function expectSoon(apply: () => void, expectVisible: () => Promise<void>): Promise<void> {
  const start = performance.now();
  apply();
  await eventually(expectVisible, MEASURE_TIMEOUT_MS);
  expect(performance.now() - start).toBeLessThan(VISIBLE_WITHIN_MS);
}

test.each([
  [
    "page of the redirector",
    "shared/languages/en.json",
    "There is no link at this address.",
    () => `${stack.info().short_url}/no-such-link`,
  ],
  [
    "message of the API",
    "api/http/errors.ts",
    "does not exist.",
    () => `${stack.info().api_url}/v1/nothing`,
  ],
])("a %s", async (_, file, text, url) => {
  const changed = "is somewhere else.";
  await expectSoon(
    () => edit(file, (source) => source.replaceAll(text, changed)),
    async () => expect(await (await fetch(url())).text()).toContain(changed),
  );
});

test.skipIf(chromiumPath === undefined)(
  "a style of the dashboard, whose page keeps what was typed",
  async () => {
    await using browser = await openBrowser();
    const { page } = await openSignIn(browser, stack);
    const field = page.getByLabel("E-mail address");
    await field.fill(TYPED);
    await expectSoon(
      () =>
        edit("dashboard/src/styles/layout.css", (css) => `${css}\nbody { outline: 7px solid; }\n`),
      // As a string: it runs in the page, and this file has no DOM types.
      async () =>
        expect(await page.evaluate<string>("getComputedStyle(document.body).outlineWidth")).toBe(
          "7px",
        ),
    );
    expect(await field.inputValue()).toBe(TYPED);
  },
);
