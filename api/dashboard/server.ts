/** Starts the dashboard's site in this process, if it is configured. */
import { listenOptions, stopSite } from "../http/site-server.ts";
import { createMemberService } from "../members/service.ts";
import { readOrigins } from "../origins.ts";
import type { PasswordHashing } from "../passwords/hashing.ts";
import type { Sql } from "../postgres.ts";
import { Attempts } from "../sessions/attempts.ts";
import { openAuthLibrary } from "../sessions/better-auth.ts";
import { DeviceCookies } from "../sessions/device-cookie.ts";
import { createPasswordStrength } from "../sessions/password-strength.ts";
import { PasswordResets } from "../sessions/resets.ts";
import { createSessionService } from "../sessions/service.ts";
import { createUserService } from "../sessions/users.ts";
import { createDashboardApp, type DashboardDeps } from "./app.ts";
import { readAssets } from "./assets.ts";

type DashboardConfig = {
  DASHBOARD_URL?: string | undefined;
  DASHBOARD_SECRET?: string | undefined;
  DASHBOARD_HOST: string;
  DASHBOARD_PORT: number;
  DASHBOARD_DIR: string;
  INSTANCE?: number | undefined;
};

type ServerDeps = Omit<DashboardDeps, "sessions" | "resets" | "members" | "assets" | "origin"> & {
  sql: Sql;
  passwords: PasswordHashing;
};

/** Returns undefined when no dashboard is configured. Throws when its files are missing. */
export function startDashboard(
  config: DashboardConfig,
  { passwords, ...deps }: ServerDeps,
): { url: string; stop: () => Promise<void> } | undefined {
  const { DASHBOARD_SECRET: secret } = config;
  const { dashboardUrl: origin } = readOrigins(config);
  if (origin === undefined || secret === undefined) return undefined;
  const { sql } = deps;
  const library = openAuthLibrary(sql, passwords, origin, secret);
  const attempts = new Attempts(sql, secret);
  const devices = new DeviceCookies(secret, origin.startsWith("https:"));
  const requireStrongPassword = createPasswordStrength();
  const sessions = createSessionService({ sql, library, attempts, devices, requireStrongPassword });
  const resets = new PasswordResets(
    sql,
    attempts,
    (password) => passwords.hashForUser(password),
    requireStrongPassword,
  );
  const users = createUserService({ sql, library, requireStrongPassword });
  const app = createDashboardApp({
    ...deps,
    sessions,
    resets,
    members: createMemberService({ sql, users }),
    assets: readAssets(config.DASHBOARD_DIR),
    origin,
  });
  const shared = config.INSTANCE !== undefined;
  const { DASHBOARD_HOST: hostname, DASHBOARD_PORT: port } = config;
  app.listen({ hostname, port, ...listenOptions(shared) });
  return { url: origin, stop: () => stopSite(app.server, shared) };
}
