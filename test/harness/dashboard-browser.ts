/** The dashboard in one browser, in which each user signs in once. */
import { describe } from "bun:test";

import type { Browser, Page } from "playwright-core";

import type { Plan } from "../../api/accounts/service.ts";
import { type Client, createClient } from "../../clients/typescript/src/index.ts";
import type { Role } from "../../shared/contracts/users.ts";
import { createAccount } from "./admin.ts";
import { chromiumPath, openBrowser, openContext } from "./browser.ts";
import { createUser, joinAccount, signIn, type TestUser } from "./dashboard.ts";
import type { Dns } from "./dns.ts";
import { type SharedStack, useStack } from "./stack.ts";

/** Describes tests that need a browser. */
export const withBrowser = describe.skipIf(chromiumPath === undefined);

/** An account of tests, with a client that may do everything. */
export type TestAccount = { id: string; key: string; client: Client };

/** A page of a signed-in user, and what its console has reported. */
type Window = { user: TestUser; page: Page; errors: string[] };

const VIEWPORT = { width: 1280, height: 860 };

/**
 * The dashboard in one browser, for all tests of a file. One user for each role signs in once, and
 * joins the accounts that it visits: a sign-in and a browser context take seconds of a processor.
 */
export class DashboardBrowser {
  readonly stack: SharedStack;
  readonly #browser: Browser | undefined;
  readonly #windows = new Map<Role, Window>();
  readonly #joined = new Set<string>();

  private constructor(stack: SharedStack, browser: Browser | undefined) {
    this.stack = stack;
    this.#browser = browser;
  }

  /** Opens the browser, if there is one, on the runner's stack, whose API asks `dns` if given. */
  static async open(dns?: Dns): Promise<DashboardBrowser> {
    const stack = await useStack(dns === undefined ? {} : { dns });
    const browser = chromiumPath === undefined ? undefined : await openBrowser();
    return new DashboardBrowser(stack, browser);
  }

  get browser(): Browser {
    if (this.#browser === undefined) throw new Error("There is no Chromium.");
    return this.#browser;
  }

  /** Adds an account, without anything in it. */
  async addAccount(plan: Plan = "enterprise"): Promise<TestAccount> {
    const { id, key } = await createAccount(this.stack, plan);
    return { id, key, client: createClient({ baseUrl: this.stack.info().api_url, apiKey: key }) };
  }

  /** Makes the user of a role a member of an account. */
  async join(account: { id: string }, role: Role = "owner"): Promise<TestUser> {
    const { user } = await this.#openWindow(role);
    const membership = `${account.id} ${user.id}`;
    if (!this.#joined.has(membership)) await joinAccount(this.stack, account.id, user, role);
    this.#joined.add(membership);
    return user;
  }

  /**
   * Opens a path of an account as a user with the role, and runs the steps. Throws what the page's
   * console reported.
   */
  async visit(
    account: { id: string },
    path: string,
    steps: (page: Page) => Promise<void>,
    role: Role = "owner",
  ): Promise<void> {
    await this.join(account, role);
    const window = await this.#openWindow(role);
    const { page, errors } = window;
    // A window in which steps failed may be in any state.
    this.#windows.delete(role);
    try {
      await page.goto(`/${account.id}/live${path}`);
      await page.locator("h1").first().waitFor();
      await steps(page);
      if (errors.length > 0) throw new Error(errors.join("\n"));
      await reset(page);
    } catch (error) {
      await page.context().close();
      throw error;
    }
    this.#windows.set(role, window);
  }

  /** Signs in without the form of the page. */
  async addSession(page: Page, user: TestUser): Promise<void> {
    const { cookie } = await signIn(this.stack, user);
    const [name = "", value = ""] = cookie.split("=");
    await page.context().addCookies([{ name, value, url: this.stack.info().dashboard_url }]);
  }

  async #openWindow(role: Role): Promise<Window> {
    const open = this.#windows.get(role);
    if (open !== undefined) return open;
    const user = await createUser(this.stack);
    const { page, consoleErrors } = await openContext(this.browser, this.stack, {
      viewport: VIEWPORT,
      // Drawing animations would only take time.
      reducedMotion: "reduce",
    });
    await this.addSession(page, user);
    const window = { user, page, errors: consoleErrors };
    this.#windows.set(role, window);
    return window;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser?.close();
    await this.stack[Symbol.asyncDispose]();
  }
}

/** Undoes what steps have set in a page. */
async function reset(page: Page): Promise<void> {
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await page.context().clearPermissions();
  await page.setViewportSize(VIEWPORT);
  await page.evaluate("localStorage.clear()");
}
