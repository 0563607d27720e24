/**
 * A provider of OpenID Connect on loopback (npm `oidc-provider`), with which signing in is tried:
 * it knows the people that it is told of. What it keeps ends with its process.
 */
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

import { type JWKS, type KoaContextWithOIDC, Provider } from "oidc-provider";

export type Person = {
  sub: string;
  email: string;
  email_verified?: boolean;
  /** What Entra ID has in its place. */
  xms_edov?: boolean;
  name: string;
  groups: string[];
};

const CLIENT_ID = "shorthop";

export abstract class LoopbackProvider {
  readonly issuer: string;
  readonly clientId = CLIENT_ID;
  readonly clientSecret = randomBytes(24).toString("base64url");
  /** Those whom the provider knows, by their `sub`. */
  readonly people = new Map<string, Person>();
  readonly #provider: Provider;
  readonly #server: Server;
  readonly #port: number;

  /** `dashboard` is the origin of the dashboard, to which it sends people back. */
  constructor(port: number, dashboard: string) {
    this.#port = port;
    this.issuer = `http://127.0.0.1:${port}`;
    this.#provider = new Provider(this.issuer, {
      clients: [
        {
          client_id: CLIENT_ID,
          client_secret: this.clientSecret,
          redirect_uris: [`${dashboard}/auth/oidc/callback`],
          post_logout_redirect_uris: [`${dashboard}/`],
          grant_types: ["authorization_code", "refresh_token"],
          response_types: ["code"],
        },
      ],
      jwks: signingKeys(),
      cookies: { keys: [randomBytes(24).toString("base64url")] },
      claims: { email: ["email", "email_verified", "xms_edov"], profile: ["name", "groups"] },
      conformIdTokenClaims: false,
      findAccount: (_, sub) => {
        const person = this.people.get(sub);
        return person && { accountId: sub, claims: () => Promise.resolve({ ...person }) };
      },
      issueRefreshToken: () => Promise.resolve(true),
      loadExistingGrant: grantEverything,
      interactions: { url: (_, { uid }) => `/interaction/${uid}` },
      features: {
        devInteractions: { enabled: false },
        rpInitiatedLogout: { logoutSource: showSignOut },
      },
    });
    const handle = this.#provider.callback();
    this.#server = createServer((request, response) => {
      if (!this.answers(response)) return;
      if (request.url?.startsWith("/interaction/")) void this.#interact(request, response);
      else void handle(request, response);
    });
  }

  /** The settings of an API process with which people sign in by this provider. */
  get env(): Record<string, string> {
    return {
      OIDC_ISSUER: this.issuer,
      OIDC_CLIENT_ID: this.clientId,
      OIDC_CLIENT_SECRET: this.clientSecret,
    };
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(this.#port, "127.0.0.1", resolve));
  }

  /** Whether it goes on with a request; else it has done with it what it does. */
  protected answers(_response: ServerResponse): boolean {
    return true;
  }

  /** The `sub` of who signs in; undefined when the response is a page that asks for that. */
  protected abstract findPresent(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<string | undefined>;

  async #interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const accountId = await this.findPresent(request, response);
    if (accountId === undefined) return;
    await this.#provider.interactionFinished(request, response, { login: { accountId } });
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => void this.#server.close(() => resolve()));
  }
}

const DEMO_MEMBER: Person = {
  sub: "demo",
  email: "employee@example.com",
  email_verified: true,
  name: "Employee",
  groups: [],
};

/** The provider of a local stack, with one person, who enters a password. */
export class DemoProvider extends LoopbackProvider {
  readonly email = DEMO_MEMBER.email;
  readonly #password: string;

  constructor(port: number, dashboard: string, password: string) {
    super(port, dashboard);
    this.#password = password;
    this.people.set(DEMO_MEMBER.sub, DEMO_MEMBER);
  }

  /** Those of a stack whose account it is; with its name on the sign-in page. */
  settingsOf(account: string): Record<string, string> {
    return {
      ...this.env,
      OIDC_NAME: "Demo provider",
      OIDC_ACCOUNT: account,
      OIDC_ROLES: "*=member",
    };
  }

  protected override async findPresent(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<string | undefined> {
    const fields = request.method === "POST" ? await readForm(request) : undefined;
    const isRight =
      fields?.get("email") === DEMO_MEMBER.email && fields.get("password") === this.#password;
    if (isRight) return DEMO_MEMBER.sub;
    showPage(
      response,
      `${fields === undefined ? "" : "<p role=alert>That is another address or password.</p>"}
<form method="post">
<p><label>E-mail address <input name="email" type="email" autocomplete="username" required></label></p>
<p><label>Password <input name="password" type="password" autocomplete="current-password" required></label></p>
<button>Sign in</button>
</form>`,
    );
    return undefined;
  }
}

/** Maximum bytes of the fields of a form. */
const FORM_BYTES_MAX = 4_096;

/** Reads the fields of a form; those of one that is too long are none. */
async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  let text = "";
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > FORM_BYTES_MAX) return new URLSearchParams();
  }
  return new URLSearchParams(text);
}

const pageOf = (content: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>Demo provider</title><h1>Demo provider</h1>\n${content}\n</html>`;

function showPage(response: ServerResponse, content: string): void {
  response.setHeader("content-type", "text/html; charset=utf-8");
  response.setHeader("cache-control", "no-store");
  response.end(pageOf(content));
}

/** The page on which somebody confirms that they sign out; `form` is the provider's. */
function showSignOut(ctx: KoaContextWithOIDC, form: string): void {
  ctx.body = pageOf(
    `${form}<button form="op.logoutForm" name="logout" value="yes">Sign out here too</button>`,
  );
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
