/**
 * `bun run bench:import [ROWS]`: the dashboard's import of a CSV file, in a browser: how long it
 * takes from the click on "Import" until every link is there, and whether the progress bar moves
 * meanwhile.
 */
import * as z from "zod";

import { createAccount, UNLIMITED } from "../test/harness/admin.ts";
import { call } from "../test/harness/api.ts";
import { chromiumPath, openBrowser, openSignIn, signInOnPage } from "../test/harness/browser.ts";
import { createUser } from "../test/harness/dashboard.ts";
import { atMost, publish, round } from "../test/harness/report.ts";
import { startStack } from "../test/harness/stack.ts";

const [ROWS = 100_000] = process.argv.slice(2).map(Number);
const SECONDS_MAX = 60;
const LIMIT_MS = 900_000;
const POLL_MS = 250;

const listed = z.object({ pagination: z.object({ total: z.number() }) });

if (chromiumPath === undefined) process.exit(1);
await using stack = await startStack({ empty: true });
await using browser = await openBrowser();
const { id: account, key } = await createAccount(stack, "enterprise", UNLIMITED);
const { page } = await openSignIn(browser, stack);
await signInOnPage(page, await createUser(stack, account));
await page.goto(`/${account}/live/links/import`);
await page.getByLabel("Choose a CSV file").setInputFiles({
  name: "links.csv",
  mimeType: "text/csv",
  buffer: Buffer.from(file(ROWS)),
});
const checking = performance.now();
await page.getByRole("button", { name: /^Check / }).click();
const begin = page.getByRole("button", { name: /^Import / });
await begin.waitFor();
const checked = (performance.now() - checking) / 1_000;
const start = performance.now();
await begin.click();
let steps = 0;
let done = -1;
const bar = page.locator("progress");
const shown = page.getByText("Show imported links");
while (!(await shown.isVisible()) && performance.now() - start < LIMIT_MS) {
  const [now = done] = await bar.evaluateAll((bars) =>
    bars.map((found) => Number(found.getAttribute("value"))),
  );
  if (now > done) steps++;
  done = now;
  await page.waitForTimeout(POLL_MS);
}
const seconds = (performance.now() - start) / 1_000;
const list = await call(`${stack.info().api_url}/v1/links?limit=1`, { key });
const { total } = listed.parse(list.body).pagination;
if (total !== ROWS) throw new Error(`${total} of ${ROWS} links were imported.`);

publish({
  name: "import",
  versions: { chromium: browser.version() },
  rows: [
    {
      rows: ROWS,
      "seconds to check": round(checked),
      seconds: round(seconds),
      "rows/s": Math.round(ROWS / seconds),
      "bar moved": steps,
    },
  ],
  targets: [atMost(`seconds for ${ROWS} rows`, seconds, SECONDS_MAX)],
});

/** A file of links with alias, title and tag. */
function file(rows: number): string {
  const lines = Array.from(
    { length: rows },
    (_, i) => `import-${i},https://shop-${i % 500}.example/products/${i},Product ${i},"catalogue"`,
  );
  return ["alias,url,title,tags", ...lines].join("\r\n");
}
