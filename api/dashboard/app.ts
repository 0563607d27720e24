/**
 * The dashboard's site, on its own port: its files, sign-in, and the resources of /v1 for users
 * with a session, under `/api/:account/:mode`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

import { Elysia } from "elysia";

import type { SignInMethods } from "../../shared/contracts/user-responses.ts";
import type { Log } from "../../shared/log.ts";
import type { ApiContext } from "../context.ts";
import { acceptsCoding } from "../http/compression.ts";
import { notFound } from "../http/errors.ts";
import { addressOf } from "../http/request-context.ts";
import { FileBudget } from "../limits/windows.ts";
import { invitationRoutes, memberRoutes } from "../members/routes.ts";
import { MemberService } from "../members/service.ts";
import { oidcRoutes } from "../oidc/routes.ts";
import { OidcService } from "../oidc/service.ts";
import { type OidcSettings, readOidcSettings } from "../oidc/settings.ts";
import type { PasswordHashing } from "../passwords/hashing.ts";
import type { Sql } from "../postgres.ts";
import { resourceRoutes } from "../resource-routes.ts";
import type { Services } from "../services.ts";
import { Attempts, DeviceCookies } from "../sessions/attempts.ts";
import { AuthLibrary, librarySettings } from "../sessions/better-auth.ts";
import { passkeyRoutes, secondFactorRoutes } from "../sessions/factor-routes.ts";
import { Passkeys } from "../sessions/passkeys.ts";
import { PasswordRules } from "../sessions/password-rules.ts";
import { PasswordResets } from "../sessions/resets.ts";
import { resetRoutes, sessionRoutes } from "../sessions/routes.ts";
import { SecondFactors } from "../sessions/second-factor.ts";
import { SessionService } from "../sessions/service.ts";
import { SessionAuthenticator } from "../sessions/session-auth.ts";
import { UserService } from "../sessions/users.ts";
import { sharedRoutes } from "../shares/public/routes.ts";
import { listenOptions, Site, type SiteContext, stopSite } from "../site.ts";

/** People who sign in. */
export class People {
  readonly sessions: SessionService;
  readonly factors: SecondFactors;
  readonly passkeys: Passkeys;
  readonly resets: PasswordResets;
  readonly members: MemberService;
  /** The provider that people sign in with; undefined without one. */
  readonly oidc: OidcService | undefined;
  /** How people can sign in. */
  readonly methods: SignInMethods;

  /** `origin` is the dashboard's; `secret` signs its cookies. */
  constructor(
    sql: Sql,
    passwords: PasswordHashing,
    origin: string,
    secret: string,
    provider?: { settings: OidcSettings; log: Log },
  ) {
    const options = librarySettings(sql, passwords, origin, secret);
    const library = new AuthLibrary(options);
    const devices = new DeviceCookies(secret, origin.startsWith("https:"));
    const attempts = new Attempts(sql, secret, devices);
    const settings = provider?.settings;
    const only = settings?.only === true;
    const rules = new PasswordRules(only ? settings.breakGlass : undefined);
    const users = new UserService(sql, library, rules);
    this.members = new MemberService(sql, users);
    this.oidc =
      provider && new OidcService(sql, provider.settings, this.members, options, provider.log);
    this.sessions = new SessionService(sql, library, attempts, rules, this.oidc);
    this.factors = new SecondFactors(sql, library, attempts);
    this.passkeys = new Passkeys(sql, library, attempts, rules);
    this.resets = new PasswordResets(sql, attempts, passwords, rules);
    this.methods = { provider: settings?.name ?? null, provider_only: only };
  }
}

/** Where the dashboard is, and with whom people sign in there, if with anybody. */
type Dashboard = { url: string; oidc: OidcService | undefined };

/**
 * Listens for the dashboard until the process stops; undefined where none is configured. Throws
 * when its files are missing.
 */
export function listenDashboard(context: ApiContext, services: Services): Dashboard | undefined {
  const { config, sql, lifecycle, log, dashboardUrl: origin } = context;
  const { DASHBOARD_SECRET: secret, DASHBOARD_HOST: hostname, DASHBOARD_PORT: port } = config;
  if (origin === undefined || secret === undefined) return undefined;
  const settings = readOidcSettings(config);
  const provider = settings && { settings, log };
  const people = new People(sql, services.passwords, origin, secret, provider);
  if (people.oidc !== undefined) lifecycle.onStop("oidc", people.oidc.confirmRepeatedly());
  const assets = readAssets(config.DASHBOARD_DIR);
  const app = dashboardSite(context, services, people, { assets, origin });
  const shared = config.INSTANCE !== undefined;
  app.listen({ hostname, port, ...listenOptions(shared) });
  lifecycle.onStop("dashboard", () => stopSite(app.server, shared));
  return { url: origin, oidc: people.oidc };
}

/**
 * Allows only the dashboard's own files and the images of link previews. Forbids inline code and
 * framing.
 */
const SECURITY_HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob: https:; " +
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=()",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
};

const NOT_PAGES = /^\/(api|auth)(\/|$)/;

/** `origin` is the dashboard's, without a trailing slash. */
export function dashboardSite(
  context: SiteContext,
  services: Services,
  { sessions, factors, passkeys, resets, members, oidc, methods }: People,
  { assets, origin }: { assets: Assets; origin: string },
) {
  const site = new Site(context, new SessionAuthenticator(sessions, members), {
    url: origin,
    headers: SECURITY_HEADERS,
    ownOrigin: origin,
  });
  const auth = site.access;
  const resources = new Elysia({ prefix: "/api/:account/:mode" }).use(
    resourceRoutes(site, context, services),
  );
  const { shared } = services;
  const app = new Elysia({ name: "dashboard", normalize: false })
    .use(site.journey)
    .use(sessionRoutes(auth, sessions, methods, (user) => members.listAccounts(user), context))
    .use(secondFactorRoutes(auth, factors))
    .use(passkeyRoutes(auth, passkeys))
    .use(oidc === undefined ? new Elysia() : oidcRoutes(auth, oidc))
    .use(resetRoutes(auth, resets, context.sendsMails))
    .use(invitationRoutes(auth, members, sessions))
    .use(memberRoutes(auth, members))
    .use(sharedRoutes(auth, shared, origin.startsWith("https:")))
    .use(resources);
  site.finish(app.routes.slice());
  const files = new FileBudget();
  return app.get("/*", ({ path, request, server, set }) => {
    if (NOT_PAGES.test(path)) throw notFound("resource");
    const { headers, body } = findAsset(assets, path, request.headers);
    files.charge(addressOf(request, server, context.proxies), body.length);
    Object.assign(set.headers, headers);
    return new Response(body);
  });
}

/** How files are compressed, the smallest first. */
const CODINGS = ["br", "gzip"] as const;

type Asset = {
  type: string;
  /** The file's name contains a hash of its content, so it never changes. */
  immutable: boolean;
  bodies: Readonly<Record<(typeof CODINGS)[number] | "identity", Uint8Array<ArrayBuffer>>>;
};

type Assets = ReadonlyMap<string, Asset>;

const PAGE = "/index.html";

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  json: "application/json",
};

/** Reads the output folder of `bun dashboard/build.ts`. Throws when it contains no `index.html`. */
function readAssets(folder: string): Assets {
  const assets = new Map<string, Asset>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const type = TYPES[entry.name.split(".").at(-1) ?? ""];
    // Skips files that are not served under their own name, such as compressed variants.
    if (type === undefined) continue;
    assets.set(`/${relative(folder, path)}`, {
      type,
      immutable: /-[0-9a-z]{8}\.\w+$/.test(entry.name),
      bodies: {
        identity: read(path),
        br: read(`${path}.br`),
        gzip: read(`${path}.gz`),
      },
    });
  }
  if (!assets.has(PAGE)) throw new Error(`There is no dashboard in ${folder}.`);
  return assets;
}

const read = (path: string): Uint8Array<ArrayBuffer> => new Uint8Array(readFileSync(path));

type AssetResponse = { headers: Record<string, string>; body: Uint8Array<ArrayBuffer> };

/**
 * Finds the file of a path. Returns `index.html` for every other path, which the client-side router
 * resolves.
 */
function findAsset(assets: Assets, path: string, headers: Headers): AssetResponse {
  const asset = assets.get(path) ?? assets.get(PAGE);
  if (asset === undefined) throw new Error("The dashboard has no page.");
  const encoding = CODINGS.find((coding) => acceptsCoding(headers, coding)) ?? "identity";
  return {
    body: asset.bodies[encoding],
    headers: {
      "content-type": asset.type,
      "cache-control": asset.immutable ? "public, max-age=31536000, immutable" : "no-cache",
      vary: "Accept-Encoding",
      ...(encoding === "identity" ? {} : { "content-encoding": encoding }),
    },
  };
}
