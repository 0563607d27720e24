/**
 * Goal: everybody can use the dashboard and the pages of shared statistics on any screen. Method:
 * axe on every page and dialog, on one screen and in one color scheme of each day;
 * `test/scenarios/accessibility.test.ts` has them all.
 */
import { expect, test } from "bun:test";

import { DAY_MS } from "../../shared/durations.ts";
import { DashboardBrowser, withBrowser } from "../harness/dashboard-browser.ts";
import { checkViews, VARIANTS } from "../harness/dashboard-views.ts";
import { Dns } from "../harness/dns.ts";
import { seedAccount } from "../harness/seeded-account.ts";

/** The variant of today, or that with the number; whoever repeats a run sets it. */
const NUMBER = Number(process.env["ACCESSIBILITY_VARIANT"] ?? Math.floor(Date.now() / DAY_MS));

withBrowser("every page and dialog", () => {
  test("is accessible and no wider than the screen", async () => {
    const number = NUMBER % VARIANTS.length;
    const variants = VARIANTS.slice(number, number + 1);
    console.log(`ACCESSIBILITY_VARIANT=${number}: ${variants[0]?.name}`);
    await using dns = await Dns.start();
    await using dashboard = await DashboardBrowser.open(dns);
    const seeded = await seedAccount(dashboard.stack, dns);
    expect(await checkViews(dashboard, seeded, variants)).toEqual([]);
  });
});
