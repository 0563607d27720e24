/** Calls the API the way any client would. */
import * as z from "zod";

export type Answer = { status: number; headers: Headers; body: unknown };

type CallOptions = {
  method?: string;
  key?: string | undefined;
  body?: unknown;
  headers?: Record<string, string>;
};

/** Sends a request; a body is sent as JSON, a string as it is. */
export async function call(
  url: string,
  { method, key, body, headers = {} }: CallOptions = {},
): Promise<Answer> {
  const answer = await fetch(url, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    redirect: "manual",
  });
  const text = await textOf(answer);
  return { status: answer.status, headers: answer.headers, body: parseOr(text) };
}

/** A stream has no end: one that is answered is left again. */
async function textOf(answer: Response): Promise<string> {
  if (!answer.headers.get("content-type")?.startsWith("text/event-stream"))
    return await answer.text();
  await answer.body?.cancel();
  return "";
}

function parseOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export const linkAnswer = z.object({
  id: z.string(),
  short_url: z.string(),
  original_url: z.string(),
  alias: z.string(),
  title: z.string().nullable(),
  clicks: z.int(),
  created_at: z.string(),
  expires_at: z.string().nullable(),
});

export const summaryAnswer = z.object({
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

export const errorAnswer = z.strictObject({
  error: z.strictObject({
    code: z.string(),
    message: z.string().min(1),
    retry_after: z.int().optional(),
  }),
});
