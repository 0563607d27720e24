/**
 * Goal: metrics follow Prometheus' conventions, and the dashboard, alerts and documents name
 * metrics that exist.
 */
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import { type DoctorResults, formatMetrics } from "../../cli/machines/doctor.ts";
import { version } from "../../shared/version.ts";
import { call, linkSchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import {
  type MetricFamily,
  namingProblems,
  parseMetrics,
  seriesType,
} from "../harness/prometheus.ts";
import { PROJECT_DIR, startStack } from "../harness/stack.ts";

/** Names in PromQL that are metrics. */
const METRIC = /\b(?:shorthop|nodejs|process)_[a-z0-9_]+\b/g;

/** A metric in PromQL, and the function around it, if any. */
const USE = /(?:\b([a-z_]+)\(\s*)?\b((?:shorthop|nodejs|process)_[a-z0-9_]+)\b/g;

/** Series that Prometheus makes of a histogram. */
const OF_A_HISTOGRAM = /_(?:bucket|count|sum)$/;

/**
 * Metrics without a sample on a stack where all is well: nothing waits in the outbox, and the first
 * backup comes later.
 */
const WITHOUT_SAMPLE = [
  "shorthop_api_backup_proven_timestamp_seconds",
  "shorthop_api_backup_timestamp_seconds",
  "shorthop_api_outbox_oldest_timestamp_seconds",
];

/** Metrics for programs, which no panel shows, and those that an alert explains. */
const NOT_ON_THE_DASHBOARD = [
  "shorthop_redirector_journal_info",
  "shorthop_doctor_timestamp_seconds",
];

/** Metrics that no process has, but a file for the node exporter. */
const OF_DOCTOR: DoctorResults = {
  findings: [{ subject: "host", check: "disks", status: "ok" }],
  disks: [{ path: "/var/lib", free: 1, size: 2 }],
  certificates: [{ path: "/tls/cert.pem", expiresAt: 0 }],
};

const PROCESSES = ["api", "redirector", "worker"] as const;

const stack = await forFile(startStack());
const { api_url, api_key: key } = stack.info();
const body = { url: "https://example.com/" };
const link = linkSchema.parse((await call(`${api_url}/v1/links`, { key, body })).body);
await call(link.short_url);
await eventually(async () => {
  const found = await call(`${api_url}/v1/links/${link.id}`, { key });
  expect(linkSchema.parse(found.body).clicks).toBe(1);
}, 20_000);
const [api, redirector, worker] = await Promise.all([
  scrape("api"),
  scrape("redirector"),
  scrape("worker"),
]);
const scrapes: Record<(typeof PROCESSES)[number], Map<string, MetricFamily>> = {
  api,
  redirector,
  worker,
};
const families: Map<string, MetricFamily> = new Map([
  ...PROCESSES.flatMap((name) => [...scrapes[name]]),
  ...parseMetrics(await formatMetrics(OF_DOCTOR)),
]);

async function scrape(name: (typeof PROCESSES)[number]): Promise<Map<string, MetricFamily>> {
  const url = `${stack.info()[`${name}_metrics_url`]}/metrics`;
  return parseMetrics(await (await fetch(url)).text());
}

const sampleNames = (all: ReadonlyMap<string, MetricFamily>): string[] =>
  [...all.values()].flatMap(({ samples }) =>
    [...samples.keys()].map((sample) => sample.replace(/\{.*$/, "")),
  );

/** Reads samples of a metric by what follows its name. */
const samplesOf = (all: ReadonlyMap<string, MetricFamily>, name: string) => (series: string) =>
  all.get(name)?.samples.get(`${name}${series}`);

/** Names that have a sample, and the histograms' own. */
const knownNames = (): Set<string> =>
  new Set([
    ...WITHOUT_SAMPLE,
    ...sampleNames(families).flatMap((name) => [name, name.replace(OF_A_HISTOGRAM, "")]),
  ]);

const read = (path: string): string => readFileSync(join(PROJECT_DIR, path), "utf8");

const dashboard = z
  .object({
    panels: z.array(
      z.object({
        id: z.number(),
        title: z.string(),
        targets: z.array(z.object({ expr: z.string() })).optional(),
      }),
    ),
    templating: z.object({ list: z.array(z.object({ name: z.string() })) }),
  })
  .parse(JSON.parse(read("deploy/monitoring/dashboard.json")));

const alerts = z
  .object({
    groups: z.array(
      z.object({
        rules: z.array(
          z.object({
            alert: z.string(),
            expr: z.string(),
            labels: z.object({ severity: z.enum(["page", "ticket"]) }),
            annotations: z.object({ summary: z.string(), runbook: z.string() }),
          }),
        ),
      }),
    ),
  })
  .parse(Bun.YAML.parse(read("deploy/monitoring/alerts.yaml")))
  .groups.flatMap(({ rules }) => rules);

const panelExpressions = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ name: title, expr })),
);
const alertExpressions = alerts.map(({ alert, expr }) => ({ name: alert, expr }));

const TEXTS = [
  "deploy/monitoring/dashboard.json",
  "deploy/monitoring/alerts.yaml",
  ...readdirSync(join(PROJECT_DIR, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

/**
 * Roles of PostgreSQL (deploy/postgres/roles.sql) and a database, which have names of this form,
 * too.
 */
const IN_POSTGRES = new Set(["shorthop_api", "shorthop_worker", "shorthop_drill"]);

test.each(TEXTS)("every metric in %s is in a scrape", (path) => {
  const known = knownNames();
  const names = new Set(read(path).match(METRIC) ?? []).difference(IN_POSTGRES);
  // A name that ends in `_` stands for all metrics that begin with it.
  const missing = [...names].filter(
    (name) =>
      !known.has(name) && !(name.endsWith("_") && [...known].some((one) => one.startsWith(name))),
  );
  expect(missing).toEqual([]);
});

describe("metrics", () => {
  test.each([...PROCESSES])("of the %s are named by Prometheus' conventions", (name) => {
    expect([...scrapes[name].values()].flatMap(namingProblems)).toEqual([]);
  });

  test("have one type and one help, whichever process they are from", () => {
    const described = PROCESSES.flatMap((name) =>
      [...scrapes[name].values()].map((family) => `${family.name} ${family.type} ${family.help}`),
    );
    const names = PROCESSES.flatMap((name) => [...scrapes[name].keys()]);
    expect(new Set(described).size).toBe(new Set(names).size);
  });

  test("have a sample, except those whose value is unknown", () => {
    const own = [...families.values()].filter(({ name }) => name.startsWith("shorthop_"));
    const empty = own.filter(({ samples }) => samples.size === 0).map(({ name }) => name);
    expect(empty.filter((name) => !WITHOUT_SAMPLE.includes(name))).toEqual([]);
  });

  test.each([...PROCESSES])("of the %s include its version and readiness", (name) => {
    const build = `shorthop_build_info{version="${version}",bun="${Bun.version}"}`;
    expect(scrapes[name].get("shorthop_build_info")?.samples.get(build)).toBe(1);
    const ready = scrapes[name].get("shorthop_ready")?.samples ?? new Map<string, number>();
    expect(ready.size).toBeGreaterThan(1);
    expect(new Set(ready.values())).toEqual(new Set([1]));
  });

  test("count each redirect once in the responses and in the latency", () => {
    const responses = scrapes.redirector.get("shorthop_redirector_responses_total")?.samples;
    const sum = [...(responses?.values() ?? [])].reduce((total, one) => total + one, 0);
    const latency = samplesOf(
      scrapes.redirector,
      "shorthop_redirector_http_request_duration_seconds",
    );
    expect(sum).toBeGreaterThan(0);
    expect(latency("_count")).toBe(sum);
    expect(latency('_bucket{le="+Inf"}')).toBe(sum);
    expect(latency("_sum")).toBeGreaterThan(0);
  });

  test("of requests have the route's pattern, and of inserts the outcome", () => {
    const requests = samplesOf(scrapes.api, "shorthop_api_http_request_duration_seconds");
    expect(requests('_count{method="POST",route="/v1/links",status="201"}')).toBe(1);
    expect(requests('_count{method="GET",route="/v1/links/:id",status="200"}')).toBeGreaterThan(0);
    const inserts = samplesOf(scrapes.worker, "shorthop_worker_insert_duration_seconds");
    expect(inserts('_count{outcome="ok"}')).toBeGreaterThan(0);
    expect(inserts('_count{outcome="error"}')).toBe(0);
  });
});

describe("the dashboard and the alerts", () => {
  test.each([
    ["dashboard", panelExpressions],
    ["alerts", alertExpressions],
  ])("take the rate of counters, and of nothing else: %s", (_, expressions) => {
    const uses = expressions.flatMap(({ name, expr }) =>
      [...expr.matchAll(USE)].map(([, around = "", metric = ""]) => {
        const isRate = ["rate", "irate", "increase"].includes(around);
        const isCounter = seriesType(families, metric) === "counter";
        return { name, metric, isRate, isCounter };
      }),
    );
    expect(uses.length).toBeGreaterThan(8);
    expect(uses.filter(({ isRate, isCounter }) => isRate !== isCounter)).toEqual([]);
  });

  test("show every metric, of the chosen instances", () => {
    const shown = new Set(panelExpressions.flatMap(({ expr }) => expr.match(METRIC) ?? []));
    const bases = new Set([...shown].map((name) => name.replace(OF_A_HISTOGRAM, "")));
    const own = [...families.keys()].filter((name) => name.startsWith("shorthop_"));
    expect(own.filter((name) => !bases.has(name))).toEqual(NOT_ON_THE_DASHBOARD);
    for (const { expr } of panelExpressions) expect(expr).toContain('instance=~"$instance"');
    const variables = dashboard.templating.list.map(({ name }) => name);
    expect(variables).toEqual(["datasource", "job", "instance"]);
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("have a section in the runbook each", () => {
    const runbook = read("docs/runbook.md");
    expect(alerts.length).toBeGreaterThan(15);
    for (const { alert, annotations } of alerts) {
      expect(runbook).toContain(`\n## ${alert}\n`);
      expect(annotations.runbook).toBe(`docs/runbook.md#${alert.toLowerCase()}`);
    }
    const sections = [...runbook.matchAll(/^## (Shorthop\w+)$/gm)].map(([, name = ""]) => name);
    expect(sections.toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
  });

  test("notice a job that Prometheus does not know", () => {
    const { expr = "" } = alerts.find(({ alert }) => alert === "ShorthopJobAbsent") ?? {};
    for (const name of PROCESSES) expect(expr).toContain(`absent(up{job="shorthop-${name}"})`);
  });
});

const ask = async (domain: string): Promise<number> =>
  (await call(`${stack.info().api_metrics_url}/domains/ask?domain=${domain}`)).status;

test("Caddy learns which domains are ours", async () => {
  expect(await ask("localhost")).toBe(200);
  expect(await ask("stranger.example.com")).toBe(404);
  expect(await ask("")).toBe(404);
});

test("an invalid Host header is a client error", async () => {
  const url = `${stack.info().api_metrics_url}/domains/ask?domain=localhost`;
  expect((await call(url, { headers: { host: "localhost:99999" } })).status).toBe(400);
});
