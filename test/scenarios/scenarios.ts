/**
 * All scenarios. A row names what proves a guarantee, how long that takes, and the files whose
 * change can break it (`bun run verify` finds a path that matches none, and a test without a row).
 */
import { findLongForms, type Scenario } from "../runner/scenarios.ts";
import { FAULT_SCENARIOS } from "./fault-scenarios.ts";
import { CLICKS_STORE, LINKS_LOG, NATS } from "./paths.ts";

const BACKUPS = ["cli/machines/backup/**", "cli/machines/setup/restore.ts"];

/** The long forms of tests (`test/harness/property-runs.ts`). */
const LONG = { SHORTHOP_TEST_LONG: "1" };

/** Without files or a program, its test is the one of `test/scenarios` with its name. */
type Row = Omit<Scenario, "files"> & { files?: readonly string[] };

const ROWS: readonly Row[] = [
  ...FAULT_SCENARIOS.map(({ name, seconds, isLast = false, paths, proves }) => ({
    name,
    isLast,
    program: ["test/scenarios/run.ts", name],
    seconds,
    paths,
    proves,
  })),
  {
    name: "backup",
    files: ["test/scenarios/backup.test.ts", "test/e2e/restore.test.ts"],
    seconds: 90,
    paths: [...BACKUPS, ...CLICKS_STORE, "api/migrations/**", "test/harness/s3.ts"],
    proves:
      "a backup in a folder or a bucket is proven and restored with the same clicks, rollups and failures, and a damaged one changes nothing",
  },
  {
    name: "batches",
    seconds: 40,
    paths: [
      "worker/batches/**",
      "cli/machines/check-rollups.ts",
      "test/harness/{batch-workers,lossy-clickhouse}.ts",
    ],
    proves: "what is stored by half is completed without PostgreSQL, and not repaired meanwhile",
  },
  {
    name: "click-limits",
    seconds: 150,
    paths: ["redirector/limits/**", "api/links/used-clicks.ts", "api/links/settings.ts"],
    proves: "a limit is used up and never exceeded while redirectors and NATS are killed or lost",
  },
  {
    name: "click-storage",
    seconds: 40,
    paths: [...CLICKS_STORE, "worker/enrich/**", "worker/batches/clicks-table.ts"],
    proves: "an insert is in the clicks and each rollup once, also repeated after ClickHouse died",
  },
  {
    name: "erasure",
    seconds: 680,
    paths: ["api/data-rights/**", "cli/accounts/data-rights.ts", "api/events/chain*.ts"],
    proves: "after an erasure a search of all that is stored finds the proof, and nothing else",
  },
  {
    name: "executables",
    isLast: true,
    seconds: 40,
    paths: [
      "deploy/{build,build-executable,executable,pack-clients}.ts",
      "clients/*/build.ts",
      "package.json",
      "{api,redirector,worker}/{main,config}.ts",
      "cli/*.ts",
      "shared/{env,preflight,version}.ts",
    ],
    proves:
      "the shipped executables start, migrate and serve in an otherwise empty directory; clients are packed",
  },
  {
    name: "import-history",
    seconds: 60,
    paths: [
      "api/imports/**",
      "api/links/import-links.ts",
      "cli/accounts/import{s,-sources}.ts",
      "worker/enrich/**",
      "shared/contracts/imported-visit.ts",
    ],
    proves:
      "links and visits of a YOURLS arrive once though the import is killed, and undone leave nothing",
  },
  {
    name: "lifecycle",
    seconds: 86,
    paths: ["deploy/local/**"],
    proves: "the local stack starts, stops and recovers, and leaves no process behind",
  },
  {
    name: "links-failover",
    seconds: 40,
    paths: [
      "api/links-log/publisher.ts",
      "redirector/links/{log-follower,stream-pull,log-health}.ts",
      "shared/nats.ts",
    ],
    proves: "changes reach every redirector soon after the leader of the links log has died",
  },
  {
    name: "managed-stores",
    seconds: 30,
    paths: ["shared/{nats,nats-files,postgres,postgres-parameters}.ts", "worker/clickhouse.ts"],
    proves: "all processes run on stores that demand TLS of a private authority and credentials",
  },
  {
    name: "nats-cluster",
    seconds: 20,
    paths: [...NATS, "shared/stream-checks.ts"],
    proves: "a stream that has fewer replicas than it should is named until an operator adds them",
  },
  {
    name: "nats-growth",
    seconds: 50,
    paths: ["deploy/nats/**", "api/{links-log,links-snapshots}/**"],
    proves: "one NATS server becomes three without a failed redirect or a lost click",
  },
  {
    name: "propagation",
    files: ["test/e2e/propagation.test.ts"],
    env: { SHORTHOP_TEST_ROUNDS: "1000" },
    seconds: 40,
    paths: [...LINKS_LOG, "redirector/cache/**"],
    proves: "a thousand links redirect at once, and their changes are there within a second",
  },
  {
    name: "quarantine",
    seconds: 60,
    paths: ["redirector/journal/**", "worker/consumer/**", "cli/machines/clicks.ts"],
    proves: "clicks flow past segments that cannot be read or stored, which can be restored",
  },
  {
    name: "reconciliation",
    seconds: 40,
    paths: ["cli/machines/{clicks,check-rollups}.ts", "shared/clicks/**"],
    proves: "an operator finds every click, and errors of rollups are found and repaired",
  },
  {
    name: "retention",
    seconds: 70,
    paths: [...CLICKS_STORE, "worker/{consistency-check,repairs}.ts"],
    proves: "retention deletes clicks, and no comparison or rebuild changes what is left of them",
  },
  {
    name: "rolling",
    seconds: 90,
    paths: ["redirector/http/**", "redirector/main.ts", "api/main.ts", "shared/lifecycle.ts"],
    proves: "processes are replaced one after another without a failed request",
  },
  {
    name: "upgrade",
    seconds: 60,
    paths: [
      ...BACKUPS,
      ...LINKS_LOG,
      "{api,worker}/migrations/**",
      "redirector/journal/**",
      "redirector/limits/uses-file.ts",
      "shared/contracts/click-{limits,record,segment}.ts",
      "test/scenarios/upgrade/**",
    ],
    proves: "an installation of an earlier release goes on with this version, and back by one",
  },
  {
    name: "docs-site",
    seconds: 60,
    paths: [
      "docs/**",
      "deploy/docs-site/**",
      "{CONTRIBUTING,SECURITY}.md",
      "clients/*/README.md",
      "api/openapi/*",
    ],
    proves: "the documentation site builds, has no dead link, is searched, and fits into screens",
  },
  {
    name: "extension",
    seconds: 60,
    paths: ["clients/extension/**"],
    proves: "the browser extension shortens a tab, copies the short URL, and says what went wrong",
  },
  {
    name: "command-line",
    seconds: 30,
    paths: ["clients/cli/**", "docs/assistants.md"],
    proves: "the command line and its tools for assistants start by the first lines of their pages",
  },
  {
    name: "python-client",
    seconds: 90,
    paths: ["clients/python/**"],
    proves: "the Python package installs from both its forms, and its README's programs run",
  },
  {
    name: "shlink-web",
    seconds: 120,
    paths: ["api/compat/**"],
    proves: "Shlink's own web interface creates, lists, edits and deletes, and shows visits",
  },
  {
    name: "accessibility",
    env: LONG,
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
    files: ["test/api/analytics.test.ts"],
    env: LONG,
    seconds: 600,
    paths: ["api/analytics/**", "api/clicks/**", ...CLICKS_STORE],
    proves: "every random question about clicks is answered as a count of them is",
  },
  {
    name: "geoip-update",
    seconds: 5,
    paths: ["worker/geoip-update.ts", "shared/visitors/**"],
    proves: "GeoIP data that is replaced is used, and damaged data is not",
  },
  {
    name: "hostile-inputs",
    seconds: 5,
    paths: ["test/hostile/**", "api/**/routes.ts"],
    proves: "the inputs of hostile runs reach every route and every bound",
  },
  {
    name: "large-links",
    seconds: 60,
    paths: [...LINKS_LOG, "shared/contracts/streams.ts", "shared/nats.ts", "deploy/nats/**"],
    proves: "large links of one account do not keep the links of others from redirectors",
  },
  {
    name: "links-disk",
    seconds: 20,
    paths: ["redirector/links/**", "shared/links-store/**"],
    proves: "a host without room or with a slow disk serves the links that it has",
  },
  {
    name: "malformed-requests",
    files: ["test/api/fuzz.test.ts", "api/limits/windows.test.ts"],
    env: LONG,
    seconds: 60,
    paths: ["api/http/**", "api/links/*.ts", "api/limits/**", "api/compat/**"],
    proves: "malformed requests get a clear error, and limits are exact, in many random cases",
  },
  {
    name: "setup-postgres",
    seconds: 10,
    paths: [
      "cli/machines/host.ts",
      "cli/machines/setup/**",
      "deploy/postgres/**",
      "api/migrations/**",
    ],
    proves: "`shorthop setup` prepares PostgreSQL, and repairs what is half done",
  },
  {
    name: "accessibility-daily",
    files: ["test/scenarios/accessibility.test.ts"],
    seconds: 70,
    paths: ["dashboard/src/**", "dashboard/index.html", "shared/statistics/**"],
    proves: "each view passes the rules of accessibility, in one theme, size and language a day",
  },
  {
    name: "dashboard-analytics",
    seconds: 80,
    paths: ["dashboard/src/pages/analytics/**", "dashboard/src/data/**", "api/analytics/**"],
    proves: "people read, filter, compare, share and export analytics in the dashboard",
  },
  {
    name: "dashboard-creating",
    seconds: 60,
    paths: ["dashboard/src/pages/links/**", "dashboard/src/commands/**"],
    proves: "people create links by keys alone, and lose nothing that they typed",
  },
  {
    name: "dashboard-import",
    seconds: 50,
    paths: ["dashboard/src/pages/links/**", "shared/contracts/link-schemas.ts"],
    proves: "people import and export links",
  },
  {
    name: "dashboard-settings",
    seconds: 80,
    paths: ["dashboard/src/pages/**", "dashboard/src/ui/**", "api/branding/**"],
    proves: "people set rules, schedules, passwords, QR codes and domains of links",
  },
  {
    name: "client",
    seconds: 100,
    paths: ["clients/**", "README.md", "deploy/local/**", "deploy/pack-clients.ts"],
    proves:
      "the programs of the READMEs run on a stack from nothing, with the keys that its start prints",
  },
  {
    name: "credentials",
    files: ["", "-nats", "-postgres", "-clickhouse"].map(
      (store) => `test/scenarios/credentials${store}.test.ts`,
    ),
    seconds: 60,
    paths: [
      "deploy/{nats,postgres,clickhouse}/**",
      "api/migrations/**",
      "worker/migrations/**",
      "test/credentials/**",
    ],
    proves: "each user of a store may do what it needs and nothing else",
  },
  {
    name: "stored-clicks",
    seconds: 80,
    paths: ["worker/counters.ts", "worker/{batches,events}/**", "api/events/**"],
    proves:
      "the last click of a link, and events of clicks for who reads them, are exact when workers die",
  },
  {
    name: "nats-users",
    seconds: 60,
    paths: NATS,
    proves: "the whole product works with the shipped permissions of NATS",
  },
  {
    name: "operators",
    seconds: 50,
    paths: ["cli/**"],
    proves: "the commands of operators do what they say, and nothing to other accounts",
  },
  {
    name: "docs-page",
    files: ["test/api/openapi.test.ts"],
    env: LONG,
    seconds: 50,
    paths: ["api/openapi/**", "api/**/routes.ts", "package-lock.json"],
    proves: "the API's document passes a linter, and its page sends requests",
  },
  {
    name: "limits",
    files: ["test/api/quotas.test.ts", "test/api/rate-limits.test.ts"],
    env: LONG,
    seconds: 80,
    paths: ["api/limits/**", "api/passwords/**", "api/auth/**", "api/analytics/**"],
    proves: "limits, passwords and revocations hold under many connections and over processes",
  },
  {
    name: "report-mails",
    files: ["test/e2e/reports.test.ts"],
    env: LONG,
    seconds: 40,
    paths: ["api/reports/**", "api/mail/**", "worker/webhooks/**"],
    proves: "a report that is due is made once, and the owner of a dead webhook gets a mail",
  },
  {
    name: "alerts",
    files: ["test/e2e/alerts.test.ts"],
    env: LONG,
    seconds: 30,
    paths: ["deploy/monitoring/**", "test/harness/prometheus.ts"],
    proves: "each alert fires for what is wrong, and not for what is well",
  },
  {
    name: "dashboard-pages",
    files: [
      "test/e2e/dashboard.test.ts",
      "test/e2e/dashboard-links.test.ts",
      "test/e2e/shared-page.test.ts",
    ],
    env: LONG,
    seconds: 200,
    paths: ["dashboard/src/**", "dashboard/index.html", "shared/statistics/**"],
    proves: "each page of the dashboard and of shared statistics does what it says",
  },
  {
    name: "explanations",
    files: ["test/e2e/links-that-decide.test.ts"],
    env: LONG,
    seconds: 60,
    paths: ["redirector/{redirect,visitors}/**", "shared/decision/**"],
    proves: "explain tells of any visitor what redirectors do",
  },
  {
    name: "killed-processes",
    files: ["test/e2e/faults.test.ts"],
    env: LONG,
    seconds: 100,
    paths: ["deploy/local/**"],
    proves: "each process of a stack that is killed starts again",
  },
  {
    name: "boot",
    isLast: true,
    seconds: 1_800,
    paths: [
      "docs/{operations,installing-by-hand}.md",
      "deploy/{systemd,packages}/**",
      "test/boot/**",
    ],
    proves: "the documented commands install and operate packages on a machine that boots",
  },
  {
    name: "boot-setup",
    isLast: true,
    seconds: 1_200,
    paths: ["cli/machines/setup/**", "test/boot/machines.ts"],
    proves: "`shorthop setup` prepares fresh machines, and repairs what is half done",
  },
  {
    name: "boot-three-machines",
    isLast: true,
    seconds: 1_200,
    paths: ["docs/three-machines.md"],
    proves: "the documented commands make three machines one installation",
  },
  {
    name: "hostile-long",
    program: ["test/scenarios/run.ts", "hostile", "--long"],
    isLast: true,
    seconds: 700,
    paths: ["test/hostile/*.ts"],
    proves: "hostile input on every route stops no process, for ten minutes",
  },
  {
    name: "input-cost-pairs",
    program: ["test/scenarios/run.ts", "input-cost", "--long"],
    isLast: true,
    seconds: 900,
    paths: ["test/hostile/cost/**"],
    proves: "no pair of parts of an input at their bounds costs more than its budget",
  },
  {
    name: "amplification",
    isLast: true,
    seconds: 900,
    paths: ["test/hostile/amplification/**", "api/limits/**"],
    proves: "a free key causes no more CPU time than its limits are meant to allow",
  },
  {
    name: "conformance",
    isLast: true,
    seconds: 300,
    paths: ["api/openapi/**", "clients/typescript/package.json"],
    proves: "tools of others find nothing wrong with the API's document and the client",
  },
  {
    name: "dev-loop",
    isLast: true,
    seconds: 120,
    paths: ["dashboard/dev.ts", "deploy/local/reload.ts"],
    proves: "a change is visible in `bun run dev` within seconds, without a restart",
  },
  longForms("api", "clients", "dashboard"),
  longForms("redirector"),
  longForms("worker"),
  longForms("shared"),
  longForms("deploy"),
  longForms("test/hostile"),
];

export const SCENARIOS: readonly Scenario[] = ROWS.map((row) => ({
  files: row.program === undefined ? [`test/scenarios/${row.name}.test.ts`] : [],
  ...row,
}));

/** The long forms of the tests in rooms: all cases of properties, and what takes seconds. */
function longForms(...rooms: string[]): Scenario {
  const [room = ""] = rooms;
  return {
    name: `long-${room.split("/").at(-1)}`,
    files: findLongForms(rooms),
    env: LONG,
    seconds: 120,
    paths: rooms.map((folder) => `${folder}/**`),
    proves: "what tests leave out of `npm test`: most random cases, and what takes seconds",
  };
}
