/**
 * `bun run openapi`: prints the OpenAPI document. It describes the routes, and calls none: there
 * are no services behind them, and no connection is opened.
 */
import { TrustedProxies } from "../shared/client-address.ts";
import { processLog } from "../shared/log.ts";
import { apiSite } from "./app.ts";
import { PLACEHOLDERS } from "./openapi/document.ts";
import { postgresPool } from "./postgres.ts";
import type { Services } from "./services.ts";
import type { SiteContext } from "./site.ts";
import { PostgresStores } from "./stores.ts";

const context: SiteContext = {
  log: processLog("api", "fatal"),
  stores: new PostgresStores(postgresPool("postgres://localhost", 1)),
  proxies: new TrustedProxies([]),
  // Belongs to no installation: generated clients keep the placeholder.
  shortUrl: PLACEHOLDERS.shortUrl,
  apiUrl: undefined,
  corsOrigins: [],
  clientFile: "",
  sendsMails: false,
  isStopping: () => false,
  isBehind: () => false,
  noteFailure: () => undefined,
  noteCompleted: () => undefined,
};

// Routes take their services when they are declared, and use them when they are called.
const services = {} as Services;

const app = apiSite(context, services);
const response = await app.handle(new Request("http://localhost/v1/openapi.json"));
console.log(JSON.stringify(await response.json(), null, 2));
