/** The configuration of a redirector in a test. */
import { type Config, configSchema } from "../../redirector/config.ts";
import { loadConfig } from "../../shared/env.ts";
import { publicKeyOf } from "../../shared/links-log/signature.ts";
import { SIGNING_KEY } from "./signing.ts";

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
