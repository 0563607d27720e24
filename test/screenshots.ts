/** `bun run screenshots`: a picture of every page, light and dark, desktop and phone, in `screenshots/`. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";

import { chromiumPath, enter, openBrowser, openDoor } from "./harness/browser.ts";
import { PROJECT_DIR, startStack } from "./harness/stack.ts";
import { LOOKS, prepareTour, stopsOf, visit } from "./harness/tour.ts";

if (chromiumPath === undefined) process.exit(1);

const folder = join(PROJECT_DIR, "screenshots");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
await using stack = await startStack();
await using browser = await openBrowser();
const tour = await prepareTour(stack);
for (const { name: look, ...options } of LOOKS) {
  const { page } = await openDoor(browser, stack, options);
  const shoot = (name: string) =>
    page.screenshot({ path: join(folder, `${name}-${look}.png`), fullPage: true });
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await shoot("sign-in");
  await enter(page, tour.person);
  for (const stop of stopsOf(tour)) {
    await visit(page, stop);
    await shoot(stop.name);
  }
  await page.context().close();
}
console.log(folder);
