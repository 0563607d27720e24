/** Goal: what dashboard, alerts and documents speak of is there, on a running stack. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { call, linkAnswer } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { PROJECT_DIR, type Stack, startStack } from "../harness/stack.ts";

/** Names in PromQL that are metrics. */
const METRIC = /\b(?:shorthop|nodejs|process)_[a-z0-9_]+\b/g;

/** Made by Prometheus itself. */
const OF_A_HISTOGRAM = /_(?:bucket|count|sum)$/;

let stack: Stack;
let scraped: string;

beforeAll(async () => {
  stack = await startStack();
  const { api_url, api_key: key, api_metrics_url } = stack.info();
  const { redirector_metrics_url, worker_metrics_url } = stack.info();
  const body = { url: "https://example.com/" };
  const link = linkAnswer.parse((await call(`${api_url}/v1/links`, { key, body })).body);
  await call(link.short_url);
  await eventually(async () => {
    const told = await call(`${api_url}/v1/links/${link.id}`, { key });
    expect(linkAnswer.parse(told.body).clicks).toBe(1);
  }, 20_000);
  const texts = await Promise.all(
    [api_metrics_url, redirector_metrics_url, worker_metrics_url].map(async (url) =>
      (await fetch(`${url}/metrics`)).text(),
    ),
  );
  scraped = texts.join("\n");
});
afterAll(async () => await stack[Symbol.asyncDispose]());

/** Names that have a sample, and the histograms' own. */
function knownNames(): Set<string> {
  const samples = [...scraped.matchAll(/^([a-z0-9_]+)(?:\{| )/gm)].map(([, name = ""]) => name);
  return new Set(samples.flatMap((name) => [name, name.replace(OF_A_HISTOGRAM, "")]));
}

const read = (path: string): string => readFileSync(join(PROJECT_DIR, path), "utf8");

const SPOKEN_OF = [
  "deploy/monitoring/dashboard.json",
  "deploy/monitoring/alerts.yaml",
  ...readdirSync(join(PROJECT_DIR, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

test.each(SPOKEN_OF)("every metric in %s is in a scrape", (path) => {
  const known = knownNames();
  const names = new Set(read(path).match(METRIC) ?? []);
  // A family that is named by its beginning stands for those that begin so.
  const missing = [...names].filter(
    (name) =>
      !known.has(name) && !(name.endsWith("_") && [...known].some((one) => one.startsWith(name))),
  );
  expect(missing).toEqual([]);
});

describe("the dashboard and the alerts", () => {
  test("speak of something", () => {
    for (const path of SPOKEN_OF.slice(0, 2)) {
      expect(new Set(read(path).match(METRIC)).size).toBeGreaterThan(8);
    }
  });

  test("have a place in the runbook each", () => {
    const runbook = read("docs/runbook.md");
    const alerts = [...read("deploy/monitoring/alerts.yaml").matchAll(/alert: (\w+)/g)];
    expect(alerts.length).toBeGreaterThan(8);
    for (const [, name = ""] of alerts) expect(runbook).toContain(`\n## ${name}\n`);
  });
});

const ask = async (domain: string): Promise<number> =>
  (await call(`${stack.info().api_metrics_url}/domains/ask?domain=${domain}`)).status;

test("Caddy is told which domains are ours", async () => {
  expect(await ask("localhost")).toBe(200);
  expect(await ask("stranger.example.com")).toBe(404);
  expect(await ask("")).toBe(404);
});
