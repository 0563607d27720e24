/**
 * Goal: everybody can use the dashboard and the pages of shared statistics on any screen, in any
 * color scheme and language. Method: axe on every page and dialog; in the long form in each variant
 * and language, else in the one of the day.
 */
import { expect, test } from "bun:test";

import { DAY_MS } from "../../shared/durations.ts";
import { DashboardBrowser, withBrowser } from "../harness/dashboard-browser.ts";
import { checkViews, VARIANTS } from "../harness/dashboard-views.ts";
import { Dns } from "../harness/dns.ts";
import { LONG } from "../harness/property-runs.ts";
import { seedAccount } from "../harness/seeded-account.ts";

/** The variant of today, or that with the number; whoever repeats a run sets it. */
const NUMBER =
  Number(process.env["ACCESSIBILITY_VARIANT"] ?? Math.floor(Date.now() / DAY_MS)) % VARIANTS.length;

withBrowser("every page and dialog", () => {
  test("is accessible and no wider than the screen", async () => {
    const variants = LONG ? VARIANTS : VARIANTS.slice(NUMBER, NUMBER + 1);
    if (!LONG) console.log(`ACCESSIBILITY_VARIANT=${NUMBER}: ${variants[0]?.name}`);
    await using dns = await Dns.start();
    await using dashboard = await DashboardBrowser.open(dns);
    const seeded = await seedAccount(dashboard.stack, dns);
    expect(await checkViews(dashboard, seeded, variants)).toEqual([]);
    if (LONG) expect(await checkViews(dashboard, seeded, variants, "de")).toEqual([]);
  });
});
