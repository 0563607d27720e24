/**
 * A provider of OpenID Connect on loopback (npm `oidc-provider`), at which whoever is `present` is
 * signed in without being asked.
 */
import { generateKeyPairSync } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

import { type JWKS, type KoaContextWithOIDC, Provider } from "oidc-provider";

import { findFreePort } from "../../deploy/local/ports.ts";

export type Person = {
  sub: string;
  email: string;
  email_verified: boolean;
  name: string;
  groups: string[];
};

/** Redirects from the dashboard's page to its callback. */
const HOPS_MAX = 12;

export class TestProvider {
  static readonly CLIENT_ID = "shorthop";
  static readonly CLIENT_SECRET = "the secret of the client of these tests";

  readonly issuer: string;
  /** Those whom the provider knows, by their `sub`. */
  readonly people = new Map<string, Person>();
  /** Whether it answers. */
  isUp = true;
  /** The paths of the requests that it got. */
  readonly requests: string[] = [];
  readonly #provider: Provider;
  readonly #server: Server;
  #present = "";

  private constructor(port: number, callback: string, after: string) {
    this.issuer = `http://127.0.0.1:${port}`;
    this.#provider = new Provider(this.issuer, {
      clients: [
        {
          client_id: TestProvider.CLIENT_ID,
          client_secret: TestProvider.CLIENT_SECRET,
          redirect_uris: [callback],
          post_logout_redirect_uris: [after],
          grant_types: ["authorization_code", "refresh_token"],
          response_types: ["code"],
        },
      ],
      jwks: signingKeys(),
      cookies: { keys: ["a key of these tests"] },
      claims: { email: ["email", "email_verified"], profile: ["name", "groups"] },
      conformIdTokenClaims: false,
      findAccount: (_, sub) => {
        const person = this.people.get(sub);
        return person && { accountId: sub, claims: () => Promise.resolve({ ...person }) };
      },
      issueRefreshToken: () => Promise.resolve(true),
      loadExistingGrant: grantEverything,
      interactions: { url: (_, { uid }) => `/interaction/${uid}` },
      features: { devInteractions: { enabled: false } },
    });
    const handle = this.#provider.callback();
    this.#server = createServer((request, response) => {
      this.requests.push(request.url ?? "");
      if (!this.isUp) response.writeHead(503).end();
      else if (request.url?.startsWith("/interaction/")) void this.#signIn(request, response);
      else void handle(request, response);
    });
  }

  /** `callback` and `after` are where it sends people back, signed in and out. */
  static async start(callback: string, after: string): Promise<TestProvider> {
    const port = findFreePort();
    const provider = new TestProvider(port, callback, after);
    await new Promise<void>((resolve) => provider.#server.listen(port, "127.0.0.1", resolve));
    return provider;
  }

  /** Adds a person, or changes what is known of them; they are the one who is present. */
  know(person: Person): void {
    this.people.set(person.sub, person);
    this.#present = person.sub;
  }

  async #signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const login = { accountId: this.#present };
    await this.#provider.interactionFinished(request, response, { login });
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => void this.#server.close(() => resolve()));
  }
}

/** Follows the redirects of the provider, as a browser without cookies, back to `origin`. */
export async function passProvider(url: string, origin: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let next = new URL(url);
  for (let hop = 0; hop < HOPS_MAX; hop++) {
    const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
    const response = await fetch(next, { redirect: "manual", headers: { cookie } });
    for (const set of response.headers.getSetCookie()) {
      const [name = "", value = ""] = (set.split(";")[0] ?? "").split("=");
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    if (location === null) throw new Error(`${next.href}: ${await response.text()}`);
    next = new URL(location, next);
    if (next.origin === origin) return next;
  }
  throw new Error("The provider sends in circles.");
}

async function grantEverything({ oidc }: KoaContextWithOIDC) {
  const { provider, client, session } = oidc;
  const grant = new provider.Grant({
    ...(client && { clientId: client.clientId }),
    ...(session?.accountId !== undefined && { accountId: session.accountId }),
  });
  grant.addOIDCScope("openid email profile offline_access");
  await grant.save();
  return grant;
}

/** A new key of the provider. */
function signingKeys(): JWKS {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  return { keys: [{ ...privateKey.export({ format: "jwk" }), use: "sig", alg: "RS256" }] };
}
