/** A redirector in a test: its configuration, and one without stores. */
import { DomainSettingsCache } from "../../redirector/cache/domain-settings.ts";
import type { LinkCache } from "../../redirector/cache/link-cache.ts";
import { Takedowns } from "../../redirector/cache/takedowns.ts";
import { type Config, configSchema } from "../../redirector/config.ts";
import { Server } from "../../redirector/http/server.ts";
import { ErrorPages } from "../../redirector/pages/error-pages.ts";
import { PasswordCheck } from "../../redirector/passwords/password.ts";
import { Redirector } from "../../redirector/redirect/redirector.ts";
import { loadConfig } from "../../shared/env.ts";
import { publicKeyOf } from "../../shared/links-log/signature.ts";
import { processLog } from "../../shared/log.ts";
import { SIGNING_KEY } from "./links-log.ts";

/** That of `https://sho.rt` on a free port of this machine, with what a test changes. */
export const redirectorConfig = (change: Partial<Config> = {}): Config => ({
  ...loadConfig(configSchema, {
    NATS_URL: "nats://127.0.0.1:4222",
    SHORT_URL: "https://sho.rt",
    JOURNAL_DIR: "/journal",
    LINKS_PUBLIC_KEYS: publicKeyOf(SIGNING_KEY),
  }),
  REDIRECTOR_HOST: "127.0.0.1",
  REDIRECTOR_PORT: 0,
  ...change,
});

/** Serves the links of a cache. Clicks go nowhere, no password is right, and no limit has room. */
export function serveCached(config: Config, cache: LinkCache): Server {
  const redirector = new Redirector(config, {
    cache,
    takedowns: new Takedowns(),
    domains: new DomainSettingsCache(),
    links: { find: () => null, fetch: () => Promise.resolve(undefined) },
    journal: { append: () => undefined, commit: () => undefined },
    limits: { take: () => "busy", look: () => false, isExhausted: () => false },
    failures: { countLink: () => undefined, countUnknownAlias: () => undefined },
    pages: new ErrorPages(),
    passwords: new PasswordCheck(() => Promise.resolve(false)),
    locate: () => undefined,
    isBehind: () => false,
  });
  return new Server(config, redirector, processLog("test", "silent"));
}
