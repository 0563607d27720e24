/**
 * All scenarios. A row names what proves a guarantee, how long that takes, and the files whose
 * change can break it (`bun run verify` finds a path that matches none, and a test without a row).
 */
import { findLongForms, type Scenario } from "../runner/scenarios.ts";

/** How links get from PostgreSQL to the redirectors, and stay there. */
const LINKS_FEED = ["api/feed/**", "redirector/links/**", "shared/links-store/**"];

/** How clicks get from a redirector's disk into ClickHouse. */
const CLICKS_WAY = [
  "redirector/redirect/click-recorder.ts",
  "redirector/journal/**",
  "worker/consumer/**",
  "worker/batches/**",
];

/** What streams and subjects of NATS are, and who may use them. */
const NATS = ["shared/contracts/*streams.ts", "shared/nats.ts", "deploy/nats/**"];

const CLICKS_STORE = ["worker/migrations/**", "shared/clicks/**"];

const BACKUPS = ["api/cli/backup/**", "api/cli/setup/restore.ts"];

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "backup",
    files: ["test/scenarios/backup.test.ts"],
    seconds: 60,
    paths: [...BACKUPS, "test/harness/s3.ts"],
    proves:
      "a backup in a folder or a bucket is proven and restored, and a damaged one changes nothing",
  },
  {
    name: "batches",
    files: ["test/scenarios/batches.test.ts"],
    seconds: 240,
    paths: ["worker/consumer/**", "worker/batches/**", "test/chaos/{batch,lossy,owner}-*.ts"],
    proves: "a segment is stored once wherever in a batch a worker, ClickHouse or NATS fails",
  },
  {
    name: "chaos",
    files: ["test/scenarios/chaos.test.ts"],
    seconds: 140,
    paths: [...CLICKS_WAY, ...NATS, "worker/webhooks/**", "api/events/**", "test/chaos/**"],
    proves: "each redirect is one click, and each change one event, under faults of each process",
  },
  {
    name: "click-limits",
    files: ["test/scenarios/click-limits.test.ts"],
    seconds: 150,
    paths: ["redirector/limits/**", "api/feed/used-clicks.ts", "api/links/settings/**"],
    proves: "a limit is used up and never exceeded while redirectors and NATS are killed or lost",
  },
  {
    name: "click-storage",
    files: ["test/scenarios/click-storage.test.ts"],
    seconds: 40,
    paths: [...CLICKS_STORE, "worker/enrich/**", "worker/consumer/row-insert.ts"],
    proves: "an insert is in the clicks and each rollup once, also repeated after ClickHouse died",
  },
  {
    name: "cluster",
    files: ["test/scenarios/cluster.test.ts"],
    seconds: 130,
    paths: [...NATS, "redirector/links/**", "api/feed/**", "test/cluster/**"],
    proves: "the death of any server or process of a redundant fleet loses nothing",
  },
  {
    name: "drills",
    files: ["test/scenarios/drills.test.ts"],
    seconds: 80,
    paths: ["api/feed/**", "redirector/journal/**", "test/drills/**"],
    proves: "an empty PostgreSQL and a journal with a flipped bit are said, and mended",
  },
  {
    name: "executables",
    files: ["test/scenarios/executables.test.ts"],
    seconds: 40,
    paths: [
      "deploy/{build,build-executable,executable}.ts",
      "package.json",
      "{api,redirector,worker}/{main,config}.ts",
      "api/cli/*.ts",
      "shared/{env,preflight,version}.ts",
    ],
    proves: "the shipped executables start, migrate and serve in an otherwise empty directory",
  },
  {
    name: "feed-failover",
    files: ["test/scenarios/feed-failover.test.ts"],
    seconds: 40,
    paths: ["redirector/links/**", "shared/nats.ts", "shared/contracts/feed-notices.ts"],
    proves: "changes reach every redirector soon after the leader of their stream has died",
  },
  {
    name: "feed-recovery",
    files: ["test/scenarios/feed-recovery.test.ts"],
    seconds: 235,
    paths: LINKS_FEED,
    proves: "20,000 links go on when a redirector, NATS or PostgreSQL comes back older or empty",
  },
  {
    name: "landed-schema",
    files: ["test/scenarios/landed-schema.test.ts"],
    seconds: 40,
    paths: ["api/migrations/**"],
    proves: "PostgreSQL is migrated below a running API of the version before, and no row changes",
  },
  {
    name: "last-clicks",
    files: ["test/scenarios/last-clicks.test.ts"],
    seconds: 60,
    paths: ["worker/{counters,last-clicks}.ts", "worker/batches/**"],
    proves: "the last click of a link is exact when a worker ends before it wrote it",
  },
  {
    name: "lifecycle",
    files: ["test/scenarios/lifecycle.test.ts"],
    seconds: 86,
    paths: ["deploy/local/**"],
    proves: "the local stack starts, stops and recovers, and leaves no process behind",
  },
  {
    name: "links-streams",
    files: ["test/scenarios/links-streams.test.ts"],
    seconds: 130,
    paths: [...LINKS_FEED, "shared/contracts/links-streams.ts"],
    proves: "a feed of four streams recovers, and an installation gets to four streams and back",
  },
  {
    name: "links-streams-regions",
    files: ["test/scenarios/links-streams-nats.test.ts"],
    seconds: 40,
    paths: ["shared/contracts/links-streams.ts", "deploy/nats/**", "api/cli/regions.ts"],
    proves: "the users of deploy/nats and a far region's mirrors work with four streams",
  },
  {
    name: "managed-stores",
    files: ["test/scenarios/managed-stores.test.ts"],
    seconds: 30,
    paths: ["shared/{nats,nats-files,postgres,postgres-parameters}.ts", "worker/clickhouse.ts"],
    proves: "all processes run on stores that demand TLS of a private authority and credentials",
  },
  {
    name: "migrations",
    files: ["test/scenarios/migrations.test.ts"],
    seconds: 30,
    paths: ["api/migrations/**", "worker/migrations/**"],
    proves: "migrations of stores with data lose, double and change nothing",
  },
  {
    name: "nats-cluster",
    files: ["test/scenarios/nats-cluster.test.ts"],
    seconds: 50,
    paths: [...NATS, "shared/stream-replicas.ts", "api/cli/nats-members-check.ts"],
    proves: "three servers with the files of deploy/nats outlive each of them in turn",
  },
  {
    name: "nats-growth",
    files: ["test/scenarios/nats-growth.test.ts"],
    seconds: 50,
    paths: ["deploy/nats/**", "api/feed/resync.ts"],
    proves: "one NATS server becomes three without a failed redirect or a lost click",
  },
  {
    name: "network-partition",
    files: ["test/scenarios/network-partition.test.ts"],
    seconds: 60,
    paths: ["redirector/links/**", "redirector/journal/**", "shared/nats.ts"],
    proves: "a redirector whose host is cut off keeps working, and catches up",
  },
  {
    name: "outage",
    files: ["test/scenarios/outage.test.ts"],
    seconds: 60,
    paths: [...LINKS_FEED, "redirector/journal/**", "api/clickhouse.ts"],
    proves: "redirectors outlive NATS, a full disk and unsafe streams; dead letters are retried",
  },
  {
    name: "postgres-failover",
    files: ["test/scenarios/postgres-failover.test.ts"],
    seconds: 40,
    paths: ["shared/postgres.ts", "api/postgres.ts", "shared/postgres-parameters.ts"],
    proves: "a promoted standby has every acknowledged link, and the API answers 503 until then",
  },
  {
    name: "propagation",
    files: ["test/e2e/propagation.test.ts"],
    env: { SHORTHOP_TEST_ROUNDS: "1000" },
    seconds: 40,
    paths: [...LINKS_FEED, "redirector/cache/**"],
    proves: "a thousand links redirect at once, and their changes are there within a second",
  },
  {
    name: "quarantine",
    files: ["test/scenarios/quarantine.test.ts"],
    seconds: 40,
    paths: ["redirector/journal/**", "api/cli/clicks.ts"],
    proves: "clicks flow past unreadable segments, which can be repaired and restored",
  },
  {
    name: "reconciliation",
    files: ["test/scenarios/reconciliation.test.ts"],
    seconds: 40,
    paths: ["api/cli/{reconciliation,check-rollups,rollup-repair}.ts", "shared/clicks/**"],
    proves: "an operator finds every click, and errors of rollups are found and repaired",
  },
  {
    name: "regions",
    files: ["test/scenarios/regions.test.ts"],
    seconds: 60,
    paths: ["deploy/nats/**", "api/cli/regions.ts", "redirector/links/**", "test/regions/**"],
    proves: "a far region redirects from its mirror while it is cut off, and catches up",
  },
  {
    name: "restore",
    files: ["test/scenarios/restore.test.ts"],
    seconds: 170,
    paths: [...BACKUPS, ...CLICKS_STORE],
    proves: "clicks, rollups and failures are the same after a restore, also of earlier versions",
  },
  {
    name: "retention",
    files: ["test/scenarios/retention.test.ts"],
    seconds: 70,
    paths: [...CLICKS_STORE, "worker/consistency-check.ts"],
    proves: "retention deletes clicks, and no comparison or rebuild changes what is left of them",
  },
  {
    name: "rolling",
    files: ["test/scenarios/rolling.test.ts"],
    seconds: 90,
    paths: ["redirector/http/**", "redirector/main.ts", "api/main.ts", "shared/lifecycle.ts"],
    proves: "processes are replaced one after another without a failed request",
  },
  {
    name: "takedowns-beside-earlier",
    files: ["test/scenarios/takedowns-beside-earlier.test.ts"],
    seconds: 20,
    paths: ["api/takedowns/**", "shared/takedowns/**"],
    proves: "processes of the version before takedowns neither redirect nor lift what is down",
  },
  {
    name: "webhooks-takeover",
    files: ["test/scenarios/webhooks-takeover.test.ts"],
    seconds: 50,
    paths: ["worker/webhooks/**", "shared/webhooks/**"],
    proves: "a worker that is killed while it delivers events loses none",
  },
  {
    name: "accessibility",
    files: ["test/scenarios/accessibility.test.ts"],
    seconds: 300,
    paths: [
      "dashboard/src/**",
      "dashboard/index.html",
      "shared/statistics/**",
      "test/harness/{axe,dashboard-views,dashboard-browser}.ts",
    ],
    proves: "each view passes the rules of accessibility in each theme, size and language",
  },
  {
    name: "analytics",
    files: ["test/scenarios/analytics.test.ts"],
    seconds: 600,
    paths: ["api/analytics/**", "api/clicks/**", ...CLICKS_STORE],
    proves: "every random question about clicks is answered as a count of them is",
  },
  {
    name: "backup-postgres",
    files: ["test/scenarios/backup-postgres.test.ts"],
    seconds: 10,
    paths: [...BACKUPS, "api/migrations/**"],
    proves: "a backup of PostgreSQL has every table, and is restored into an empty one",
  },
  {
    name: "count-tags",
    files: ["test/scenarios/count-tags.test.ts"],
    seconds: 8,
    paths: ["api/migrations/**", "api/tags/**"],
    proves: "tags are counted while links change",
  },
  {
    name: "feed-fill",
    files: ["test/scenarios/feed-fill.test.ts"],
    seconds: 15,
    paths: ["api/feed/**", "api/links/republish/**"],
    proves: "a fill of the links feed ends right while links change",
  },
  {
    name: "flood",
    files: ["test/scenarios/flood.test.ts"],
    seconds: 40,
    paths: ["redirector/http/**", "test/flood/**"],
    proves: "a flood of connections keeps no visitor from redirects",
  },
  {
    name: "geoip-update",
    files: ["test/scenarios/geoip-update.test.ts"],
    seconds: 5,
    paths: ["worker/geoip-update.ts", "shared/visitors/**"],
    proves: "GeoIP data that is replaced is used, and damaged data is not",
  },
  {
    name: "hostile-inputs",
    files: ["test/scenarios/hostile-inputs.test.ts"],
    seconds: 5,
    paths: ["test/hostile/**", "api/**/routes.ts"],
    proves: "the inputs of hostile runs reach every route and every bound",
  },
  {
    name: "hostile-load",
    files: ["test/scenarios/hostile-load.test.ts"],
    seconds: 60,
    paths: ["api/http/**", "redirector/http/**", "test/hostile/*.ts"],
    proves: "hostile input of some minutes ends no process and delays no other client",
  },
  {
    name: "input-cost",
    files: ["test/scenarios/input-cost.test.ts"],
    seconds: 270,
    paths: [
      "api/http/**",
      "redirector/{http,redirect}/**",
      "shared/decision/**",
      "test/hostile/cost/**",
    ],
    proves: "no single input costs a turn of the event loop more than its budget",
  },
  {
    name: "large-links",
    files: ["test/scenarios/large-links.test.ts"],
    seconds: 60,
    paths: [
      ...LINKS_FEED,
      "api/links/republish/**",
      "shared/contracts/streams.ts",
      "shared/nats.ts",
      "deploy/nats/**",
    ],
    proves: "large links of one account do not keep the links of others from redirectors",
  },
  {
    name: "links-disk",
    files: ["test/scenarios/links-disk.test.ts"],
    seconds: 20,
    paths: ["redirector/links/**", "shared/links-store/**"],
    proves: "a host without room or with a slow disk serves the links that it has",
  },
  {
    name: "malformed-requests",
    files: ["test/scenarios/malformed-requests.test.ts"],
    seconds: 60,
    paths: ["api/http/**", "api/links/*.ts", "api/limits/**"],
    proves: "malformed requests get a clear error, and limits are exact, in many random cases",
  },
  {
    name: "nested-bodies",
    files: ["test/scenarios/nested-bodies.test.ts"],
    seconds: 30,
    paths: ["api/http/**"],
    proves: "a nested body delays no other client, also in development",
  },
  {
    name: "setup-postgres",
    files: ["test/scenarios/setup-postgres.test.ts"],
    seconds: 10,
    paths: ["api/cli/setup/**", "deploy/postgres/**", "api/migrations/**"],
    proves: "`shorthop setup` prepares PostgreSQL, and repairs what is half done",
  },
  longForms("api", "clients", "dashboard"),
  longForms("redirector"),
  longForms("worker"),
  longForms("shared"),
  longForms("deploy"),
  longForms("test/hostile"),
];

/** The long forms of the tests in rooms: all cases of properties, and what takes seconds. */
function longForms(...rooms: string[]): Scenario {
  const [room = ""] = rooms;
  return {
    name: `long-${room.split("/").at(-1)}`,
    files: rooms.flatMap((folder) => findLongForms(folder)),
    env: { SHORTHOP_TEST_LONG: "1" },
    seconds: 120,
    paths: rooms.map((folder) => `${folder}/**`),
    proves: "what tests leave out of `npm test`: most random cases, and what takes seconds",
  };
}
