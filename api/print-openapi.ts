/** `bun run openapi`: prints the OpenAPI document. Opens no connections, because generating it needs no database. */
import { createLog } from "../shared/log.ts";
import { createAnalyticsService } from "./analytics/service.ts";
import { createApp } from "./app.ts";
import { openClickHouse } from "./clickhouse.ts";
import { createTxtReader } from "./domains/dns.ts";
import { createDomainService } from "./domains/service.ts";
import { createKeyService } from "./keys/service.ts";
import { createLinkService } from "./links/service.ts";
import { createPasswordHashing } from "./passwords/hashing.ts";
import { openPostgres } from "./postgres.ts";
import { createStores } from "./stores.ts";

const sql = openPostgres("postgres://localhost", 1);
const clickhouse = openClickHouse("http://localhost");
const ownHosts = new Set<string>();
const domains = createDomainService({ sql, readTxt: createTxtReader([]), ownHosts });
const links = createLinkService({
  sql,
  domains,
  feed: { publish: () => Promise.resolve(false) },
  passwords: createPasswordHashing(),
  destinationRules: { allowPrivate: false, shortUrl: new URL("http://localhost"), ownHosts },
});

const app = createApp({
  log: createLog("api", "fatal"),
  stores: createStores(sql),
  clientAddress: () => "",
  links,
  domains,
  keys: createKeyService({ sql }),
  analytics: createAnalyticsService({
    clickhouse,
    links,
    live: { open: () => Promise.reject(new Error("Nothing is streamed.")) },
    isAlive: async () => true,
    clicksRetentionDays: 0,
  }),
  isStopping: () => false,
  observe: () => undefined,
  shortUrl: "http://localhost",
});
const response = await app.handle(new Request("http://localhost/v1/openapi.json"));
console.log(JSON.stringify(await response.json(), null, 2));
