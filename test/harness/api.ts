/** An API client for the tests. */
import * as z from "zod";

export type ApiResponse = { status: number; headers: Headers; body: unknown };

type CallOptions = {
  method?: string;
  key?: string | undefined;
  body?: unknown;
  headers?: Record<string, string>;
};

/** Sends a request; a string body is sent as it is, any other as JSON. */
export async function call(
  url: string,
  { method, key, body, headers = {} }: CallOptions = {},
): Promise<ApiResponse> {
  const response = await fetch(url, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    redirect: "manual",
  });
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

function parseJsonOrText(text: string): unknown {
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
  }),
});
