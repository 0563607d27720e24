/**
 * Goal: everybody can use the dashboard and the pages of shared statistics on any screen, in any
 * color scheme and language. Method: axe on every page and dialog in each.
 */
import { expect, test } from "bun:test";

import { DashboardBrowser, withBrowser } from "../harness/dashboard-browser.ts";
import { checkViews, VARIANTS } from "../harness/dashboard-views.ts";
import { Dns } from "../harness/dns.ts";
import { seedAccount } from "../harness/seeded-account.ts";

withBrowser("every page and dialog", () => {
  test("is accessible and no wider than the screen, on every screen, in every scheme and language", async () => {
    await using dns = await Dns.start();
    await using dashboard = await DashboardBrowser.open(dns);
    const seeded = await seedAccount(dashboard.stack, dns);
    expect(await checkViews(dashboard, seeded, VARIANTS)).toEqual([]);
    expect(await checkViews(dashboard, seeded, VARIANTS, "de")).toEqual([]);
  });
});
