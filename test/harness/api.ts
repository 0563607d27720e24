/** An API client for the tests, and the browsers of visitors. */
import { connect } from "node:net";

import * as z from "zod";

export const CHROME =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/136.0.0.0 Safari/537.36";
export const ANDROID =
  "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/136.0.0.0 Mobile Safari/537.36";
export const IPHONE =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1";

export type ApiResponse = { status: number; headers: Headers; body: unknown };

/**
 * How often, and how long apart at most, a request is repeated that gets 503, as API clients do.
 */
const RETRIES_MAX = 8;
const RETRY_DELAY_MS_MAX = 1_000;

/** Longer than any request takes: one that gets no response fails, and the test goes on. */
const RESPONSE_TIMEOUT_MS = 60_000;

export type CallOptions = {
  method?: string;
  key?: string | undefined;
  body?: unknown;
  headers?: Record<string, string>;
};

/**
 * Sends a request, and repeats it while it gets 503 with a `Retry-After`, as API clients do: on a
 * stalled machine a database may not respond in time.
 */
export async function call(url: string, options: CallOptions = {}): Promise<ApiResponse> {
  for (let retries = 0; ; retries++) {
    const response = await callOnce(url, options);
    const seconds = Number(response.headers.get("retry-after"));
    if (response.status !== 503 || seconds === 0 || retries === RETRIES_MAX) return response;
    await Bun.sleep(Math.min(seconds * 1_000, RETRY_DELAY_MS_MAX));
  }
}

/** A request as `fetch` takes it: a string body is sent as it is, any other as JSON. */
export const toRequest = ({ method, key, body, headers = {} }: CallOptions): RequestInit => ({
  method: method ?? (body === undefined ? "GET" : "POST"),
  headers: {
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...headers,
  },
  ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  redirect: "manual",
});

/** Sends a request once. */
export async function callOnce(url: string, options: CallOptions = {}): Promise<ApiResponse> {
  const signal = AbortSignal.timeout(RESPONSE_TIMEOUT_MS);
  const response = await fetch(url, { ...toRequest(options), signal });
  const text = await readText(response);
  return { status: response.status, headers: response.headers, body: parseJsonOrText(text) };
}

/** Reads the body; cancels an event stream, which would never end. */
async function readText(response: Response): Promise<string> {
  if (!response.headers.get("content-type")?.startsWith("text/event-stream"))
    return await response.text();
  await response.body?.cancel();
  return "";
}

/** The content of a body: JSON, or else its text. */
export function parseJsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export const linkSchema = z.object({
  id: z.string(),
  short_url: z.string(),
  original_url: z.string(),
  alias: z.string(),
  title: z.string().nullable(),
  clicks: z.int(),
  created_at: z.string(),
  expires_at: z.string().nullable(),
});

export const summarySchema = z.object({
  link_id: z.string(),
  period: z.string(),
  summary: z.object({
    total_clicks: z.int(),
    unique_clicks: z.int(),
    avg_daily_clicks: z.int(),
    bot_clicks: z.int(),
  }),
  clicks_over_time: z.array(z.object({ date: z.string(), clicks: z.int(), unique: z.int() })),
});

export const errorSchema = z.strictObject({
  error: z.strictObject({
    code: z.string(),
    message: z.string().min(1),
    retry_after: z.int().optional(),
    param: z.string().optional(),
    details: z.array(z.strictObject({ param: z.string(), message: z.string() })).optional(),
    doc_url: z.url().optional(),
  }),
});

/** Status and code of an error. Throws if the body is no error. */
export const codeOf = ({ status, body }: ApiResponse): [number, string] => [
  status,
  errorSchema.parse(body).error.code,
];

type RawResponse = { status: number; location: string | null; head: string; body: string };

/** Longer than any response of a test takes. */
const TIMEOUT_MS = 20_000;

/**
 * Sends a GET with a target and header fields, each byte one character, on a connection of its own,
 * from `localAddress` if given; as curl without other fields. `fetch` would resolve `..` and escape
 * characters.
 */
export function rawRequest(
  origin: string,
  target: string,
  fields: Record<string, string> = {},
  localAddress?: string,
): Promise<RawResponse> {
  const { hostname, port, host } = new URL(origin);
  const all = { host, "user-agent": "curl/8.9.1", ...fields };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const request = `GET ${target} HTTP/1.1\r\n${lines.join("")}connection: close\r\n\r\n`;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const from = localAddress === undefined ? {} : { localAddress };
    const socket = connect({ host: hostname, port: Number(port), ...from });
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error(`No response to ${target}`)));
    socket.on("error", reject);
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("end", () => {
      socket.end();
      resolve(parse(Buffer.concat(chunks)));
    });
    socket.write(request, "latin1");
  });
}

function parse(bytes: Buffer): RawResponse {
  const end = bytes.indexOf("\r\n\r\n");
  const head = bytes.toString("latin1", 0, end);
  return {
    status: Number(head.split(" ")[1]),
    location: /^location: (.*)$/im.exec(head)?.[1]?.trim() ?? null,
    head,
    body: bytes.toString("utf8", end + 4),
  };
}
