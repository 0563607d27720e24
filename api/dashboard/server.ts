import type { AnalyticsService, IsAlive } from "../analytics/service.ts";
/** Starts the dashboard's site in this process, where it is configured. */
import { LISTENING } from "../http/listening.ts";
import { createMemberService } from "../members/service.ts";
import type { Sql } from "../postgres.ts";
import { createAttempts } from "../sessions/attempts.ts";
import { openAuthLibrary } from "../sessions/library.ts";
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
};

type ServerDeps = Omit<
  DashboardDeps,
  "analytics" | "sessions" | "members" | "assets" | "origin"
> & {
  sql: Sql;
  analyticsFor: (isAlive: IsAlive) => AnalyticsService;
};

/** Undefined where there is to be none. Throws when the built dashboard is not where it should be. */
export function startDashboard(
  config: DashboardConfig,
  { analyticsFor, ...deps }: ServerDeps,
): { url: string; stop: () => Promise<void> | undefined } | undefined {
  const { DASHBOARD_URL: url, DASHBOARD_SECRET: secret } = config;
  if (url === undefined || secret === undefined) return undefined;
  const { sql } = deps;
  const { origin } = new URL(url);
  const library = openAuthLibrary(sql, origin, secret);
  const attempts = createAttempts(sql, secret);
  const sessions = createSessionService({ sql, library, attempts });
  const app = createDashboardApp({
    ...deps,
    sessions,
    members: createMemberService({ sql, users: createUserService({ sql, library }) }),
    analytics: analyticsFor(sessions.isAlive),
    assets: readAssets(config.DASHBOARD_DIR),
    origin,
  });
  app.listen({ hostname: config.DASHBOARD_HOST, port: config.DASHBOARD_PORT, ...LISTENING });
  return { url: origin, stop: () => app.server?.stop() };
}
