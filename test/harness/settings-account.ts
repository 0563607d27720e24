/** An account for tests of links' settings, and what they do with its links. */
import { expect } from "bun:test";

import * as z from "zod";

import { createAccount } from "./admin.ts";
import { type ApiResponse, call, errorSchema } from "./api.ts";
import type { SharedStack } from "./stack.ts";

const UNLIMITED = {
  minute: 1_000_000,
  burst: 1_000_000,
  endpoints: { "POST /v1/links": 1_000_000, "GET /v1/analytics/*": 1_000_000 },
};

export type Json = Record<string, unknown>;

const settingsLink = z.looseObject({ id: z.string(), alias: z.string() });

/** Creates an account without limits. */
export async function createSettingsAccount(stack: SharedStack) {
  const { key } = await createAccount(stack, "enterprise", UNLIMITED);
  const send = (path: string, method: string, body?: Json): Promise<ApiResponse> =>
    call(`${stack.info().api_url}${path}`, {
      key,
      method,
      ...(body === undefined ? {} : { body }),
    });
  /** Sends a request that must succeed; returns the link. */
  async function sendForLink(path: string, method: string, body?: Json, status = 200) {
    const response = await send(path, method, body);
    expect([response.status, response.body]).toEqual([status, expect.anything()]);
    return settingsLink.parse(response.body);
  }
  return {
    key,
    send,
    create: (body: Json = {}) =>
      sendForLink("/v1/links", "POST", { url: "https://example.com/plain", ...body }, 201),
    read: (id: string) => sendForLink(`/v1/links/${id}`, "GET"),
    change: (id: string, body: Json) => sendForLink(`/v1/links/${id}`, "PATCH", body),
    /** Tries to create a link that is refused; returns status, code and message. */
    async refuse(body: Json): Promise<[number, string, string]> {
      const response = await send("/v1/links", "POST", { url: "https://example.com/", ...body });
      const { error } = errorSchema.parse(response.body);
      return [response.status, error.code, error.message];
    },
  };
}
