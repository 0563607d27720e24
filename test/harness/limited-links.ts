/** Links with a limit on clicks, made and read by one account on one API process. */
import { expect } from "bun:test";

import * as z from "zod";

import { call, callOnce } from "./api.ts";
import { eventually } from "./eventually.ts";

export type Json = Record<string, unknown>;

const linkSchema = z.looseObject({ id: z.string(), alias: z.string() });
type LimitedLink = z.output<typeof linkSchema>;

/** Where limited links lead. */
export const DESTINATION = "https://example.com/limited";

/** Latest time until a redirector has a lease, or has given one back. */
export const RECOVERY_MS = 15_000;

type Request = Parameters<typeof callOnce>[1];

export class LimitedLinks {
  readonly #apiUrl: string;
  readonly #key: string;
  readonly #shortUrl: string;

  constructor(apiUrl: string, key: string, shortUrl: string) {
    this.#apiUrl = apiUrl;
    this.#key = key;
    this.#shortUrl = shortUrl;
  }

  send(path: string, method: string, body?: Json) {
    const options = { key: this.#key, method, ...(body === undefined ? {} : { body }) };
    return call(`${this.#apiUrl}${path}`, options);
  }

  async create(body: Json): Promise<LimitedLink> {
    const response = await this.send("/v1/links", "POST", { url: DESTINATION, ...body });
    expect([response.status, response.body]).toEqual([201, expect.anything()]);
    return linkSchema.parse(response.body);
  }

  async read(id: string): Promise<LimitedLink> {
    return linkSchema.parse((await this.send(`/v1/links/${id}`, "GET")).body);
  }

  async change(id: string, body: Json): Promise<LimitedLink> {
    const response = await this.send(`/v1/links/${id}`, "PATCH", body);
    expect([response.status, response.body]).toEqual([200, expect.anything()]);
    return linkSchema.parse(response.body);
  }

  follow(alias: string, request: Request = {}, origin = this.#shortUrl) {
    return callOnce(`${origin}/${alias}`, request);
  }

  /** Follows a link until it does not say any more that it is busy. */
  followSettled(alias: string, origin = this.#shortUrl) {
    return eventually(async () => {
      const response = await this.follow(alias, {}, origin);
      expect(response.status).not.toBe(503);
      return response;
    }, RECOVERY_MS);
  }
}
