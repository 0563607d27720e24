/** A provider of OpenID Connect at which whoever is `present` is signed in without being asked. */
import type { ServerResponse } from "node:http";

import { findFreePort } from "../../deploy/local/ports.ts";
import { LoopbackProvider, type Person } from "../../deploy/local/provider.ts";

/** Redirects from the dashboard's page to its callback. */
const HOPS_MAX = 12;

export class TestProvider extends LoopbackProvider {
  /** What it does with requests: answers, refuses them, or says nothing. */
  state: "up" | "down" | "silent" = "up";
  #present = "";
  #met = 0;

  /** `dashboard` is the origin of the dashboard. */
  static async start(dashboard: string): Promise<TestProvider> {
    const provider = new TestProvider(findFreePort(), dashboard);
    await provider.listen();
    return provider;
  }

  /** Adds a person, or changes what is known of them; they are the one who is present. */
  know(person: Person): void {
    this.people.set(person.sub, person);
    this.#present = person.sub;
  }

  /** Somebody new of the staff, who is present. */
  meet(more: Partial<Person> = {}): Person {
    const number = ++this.#met;
    const person = {
      sub: `sub-${number}`,
      email: `person-${number}@corp.example`,
      email_verified: true,
      name: `Person ${number}`,
      groups: ["staff"],
      ...more,
    };
    this.know(person);
    return person;
  }

  protected override answers(response: ServerResponse): boolean {
    if (this.state === "down") response.writeHead(503).end();
    return this.state === "up";
  }

  protected override findPresent(): Promise<string> {
    return Promise.resolve(this.#present);
  }
}

/**
 * Follows the redirects of the provider, as a browser without cookies, back to `origin`; sends
 * `form` with its first page. Throws with the text of a page that there should not be.
 */
export async function passProvider(
  url: string,
  origin: string,
  form?: Record<string, string>,
): Promise<URL> {
  const cookies = new Map<string, string>();
  let next = new URL(url);
  let fields = form;
  let request: RequestInit = {};
  for (let hop = 0; hop < HOPS_MAX; hop++) {
    const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
    const response = await fetch(next, { ...request, redirect: "manual", headers: { cookie } });
    for (const set of response.headers.getSetCookie()) {
      const [name = "", value = ""] = (set.split(";")[0] ?? "").split("=");
      cookies.set(name, value);
    }
    request = {};
    const location = response.headers.get("location");
    if (location === null) {
      if (fields === undefined) throw new Error(`${next.href}: ${await response.text()}`);
      request = { method: "POST", body: new URLSearchParams(fields) };
      fields = undefined;
      continue;
    }
    next = new URL(location, next);
    if (next.origin === origin) return next;
  }
  throw new Error("The provider sends in circles.");
}
