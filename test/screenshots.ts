/**
 * `bun run screenshots`: screenshots of every page, light and dark, desktop and phone, in
 * `screenshots/`.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";

import {
  chromiumPath,
  openBrowser,
  openContext,
  openSignIn,
  signInOnPage,
} from "./harness/browser.ts";
import {
  listViews,
  openSignInView,
  openView,
  SIGN_IN_VIEWS,
  VARIANTS,
} from "./harness/dashboard-views.ts";
import { Dns } from "./harness/dns.ts";
import { seedAccount } from "./harness/seeded-account.ts";
import { PROJECT_DIR, startStack } from "./harness/stack.ts";

if (chromiumPath === undefined) process.exit(1);

const folder = join(PROJECT_DIR, "screenshots");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
await using dns = await Dns.start();
await using stack = await startStack({ env: { DNS_SERVERS: dns.address } });
await using browser = await openBrowser();
const seeded = await seedAccount(stack, dns);
for (const { name: variant, ...options } of VARIANTS) {
  for (const locale of ["en", "de"]) {
    const { page } = await openContext(browser, stack, { ...options, locale });
    for (const view of SIGN_IN_VIEWS) {
      await openSignInView(page, view);
      const path = join(folder, `${view.name}-${locale}-${variant}.png`);
      await page.screenshot({ path, fullPage: true });
    }
    await page.context().close();
  }
  const { page } = await openSignIn(browser, stack, options);
  const screenshot = async (name: string) => {
    // Cards beyond the screen are not painted otherwise.
    await page.evaluate(
      `for (const card of document.querySelectorAll(".card")) card.style.contentVisibility = "visible"`,
    );
    await page.screenshot({ path: join(folder, `${name}-${variant}.png`), fullPage: true });
  };
  await signInOnPage(page, seeded.user);
  for (const view of listViews(seeded)) {
    await openView(page, view);
    await screenshot(view.name);
  }
  await page.goto(seeded.share);
  await screenshot("shared");
  await page.context().close();
}
console.log(folder);
