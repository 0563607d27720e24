/**
 * A legitimate client in its own thread: follows its links and reads them through the API at a
 * fixed rate, regardless of responses, and checks that each response belongs to its request.
 */
import * as z from "zod";

export type ClientTask = {
  apiUrl: string;
  shortUrl: string;
  key: string;
  links: { id: string; alias: string; destination: string }[];
};

/** What the client has measured since its last report. */
export type ClientReport = {
  redirector: Latencies;
  api: Latencies;
  /** Responses that are wrong or belong to another request. */
  wrong: string[];
  /** Requests without a response, or with an error other than 503. */
  failed: string[];
  /** Responses with status 503, which ask the client to retry. */
  unavailable: number;
  /** How many requests of each side were wrong, failed, or got 503. */
  failures: Record<Side, number>;
};

type Latencies = { count: number; p50: number; p99: number; max: number };

type Side = "redirector" | "api";

/** Interval between two requests to one server. */
const EVERY_MS = 25;

/** Concurrent requests; more would measure the client. */
const IN_FLIGHT_MAX = 400;

const TIMEOUT_MS = 30_000;

/** Errors per report. */
const REPORTED_MAX = 20;

const ADDRESS = "198.51.100.77";

declare const self: Worker;

let task: ClientTask | undefined;
let latencies: Record<Side, number[]> = { redirector: [], api: [] };
let wrong: string[] = [];
let failed: string[] = [];
let unavailable = 0;
let failures: Record<Side, number> = { redirector: 0, api: 0 };
/** When the requests without a response were sent. */
const unfinished: Record<Side, Set<number>> = { redirector: new Set(), api: new Set() };
let sent = 0;

async function follow({ shortUrl, links }: ClientTask, nonce: string): Promise<void> {
  const link = links[sent % links.length];
  if (link === undefined) return;
  const response = await fetch(`${shortUrl}/${link.alias}?nonce=${nonce}`, {
    redirect: "manual",
    headers: { "x-forwarded-for": ADDRESS },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  await response.arrayBuffer();
  if (response.status === 503) return refuse("redirector");
  if (response.status !== 302) throw new Error(`redirector: status ${response.status}`);
  const location = response.headers.get("location");
  if (location === `${link.destination}?nonce=${nonce}`) return;
  failures.redirector++;
  wrong.push(`${link.alias} ${nonce} -> ${location?.slice(0, 200)}`);
}

/** Counts a response that asks the client to retry. */
function refuse(side: Side): void {
  failures[side]++;
  unavailable++;
}

const linkForm = z.object({ id: z.string() });

async function read({ apiUrl, key, links }: ClientTask, nonce: string): Promise<void> {
  const link = links[sent % links.length];
  if (link === undefined) return;
  const response = await fetch(`${apiUrl}/v1/links/${link.id}`, {
    headers: { authorization: `Bearer ${key}`, "x-request-id": nonce, "x-forwarded-for": ADDRESS },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await response.text();
  if (response.status === 503) return refuse("api");
  if (response.status !== 200)
    throw new Error(`api: status ${response.status}: ${text.slice(0, 200)}`);
  const id = response.headers.get("x-request-id");
  if (id === nonce && linkForm.parse(JSON.parse(text)).id === link.id) return;
  failures.api++;
  wrong.push(`${link.id} ${nonce} -> ${id} ${text.slice(0, 200)}`);
}

async function measure(side: Side, request: Promise<void>): Promise<void> {
  // Unique: a timer sends one request to each side.
  const started = performance.now();
  unfinished[side].add(started);
  try {
    await request;
  } catch (error) {
    failures[side]++;
    failed.push(error instanceof Error ? `${side}: ${error.message}` : side);
  }
  unfinished[side].delete(started);
  // A failed request counts with its duration.
  latencies[side].push(performance.now() - started);
}

/** A request that waits counts with its age, so that one that never ends is not left out. */
function summarize(side: Side): Latencies {
  const now = performance.now();
  const ages = [...unfinished[side]].map((started) => now - started);
  const sorted = [...latencies[side], ...ages].toSorted((a, b) => a - b);
  const percentile = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return {
    count: latencies[side].length,
    p50: percentile(0.5),
    p99: percentile(0.99),
    max: sorted.at(-1) ?? 0,
  };
}

function report(): ClientReport {
  const summary = {
    redirector: summarize("redirector"),
    api: summarize("api"),
    wrong: wrong.slice(0, REPORTED_MAX),
    failed: failed.slice(0, REPORTED_MAX),
    unavailable,
    failures,
  };
  latencies = { redirector: [], api: [] };
  wrong = [];
  failed = [];
  unavailable = 0;
  failures = { redirector: 0, api: 0 };
  return summary;
}

self.addEventListener("message", ({ data }: MessageEvent<ClientTask | "report">) => {
  if (data === "report") {
    postMessage(report());
    return;
  }
  task = data;
  setInterval(() => {
    if (task === undefined) return;
    if (unfinished.redirector.size + unfinished.api.size >= IN_FLIGHT_MAX) return;
    const nonce = `legitimate-${sent}`;
    void measure("redirector", follow(task, nonce));
    void measure("api", read(task, nonce));
    sent++;
  }, EVERY_MS);
});
