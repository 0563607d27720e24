/** Requests to the installation, sent on the machine itself. */
import { strict as assert } from "node:assert";
import { join } from "node:path";

import * as z from "zod";

import { eventually } from "../harness/eventually.ts";
import type { Machine } from "./machine.ts";

/** The units that the document starts, with their metrics ports. */
const METRICS_PORTS = {
  "shorthop-api@1": 9511,
  "shorthop-api@2": 9512,
  "shorthop-worker": 9103,
  "shorthop-redirector@1": 9111,
  "shorthop-redirector@2": 9112,
};

export const SERVICES = Object.keys(METRICS_PORTS);

/** Clicks of programs are counted apart. */
export const BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

/** The short domain that the document configures. */
export const SHORT_HOST = "sho.rt";

export const API_URL = "http://127.0.0.1:3000";

const READY_MS = 60_000;
const CLICKS_MS = 60_000;

const linkSchema = z.object({ id: z.string(), alias: z.string(), clicks: z.number() });
export type Link = z.output<typeof linkSchema>;

const analyticsSchema = z.object({ summary: z.object({ total_clicks: z.number() }) });

type Response = { status: number; location: string; body: string };

type Installation = {
  machine: Machine;
  key: string;
  /** Its short domain; that of the document by default. */
  host?: string;
};

export class Calls {
  readonly #machine: Machine;
  readonly #key: string;
  readonly #host: string;

  constructor({ machine, key, host = SHORT_HOST }: Installation) {
    this.#machine = machine;
    this.#key = key;
    this.#host = host;
  }

  get(url: string): Promise<Response> {
    return this.#curl(url, "--header", `Host: ${this.#host}`, "--user-agent", BROWSER);
  }

  async waitUntilReady(): Promise<void> {
    for (const [service, port] of Object.entries(METRICS_PORTS)) {
      await eventually(async () => {
        const { status, body } = await this.#curl(`http://127.0.0.1:${port}/readyz`);
        assert.equal(status, 200, `${service}: ${body}`);
      }, READY_MS);
    }
  }

  async createLink(alias: string): Promise<Link> {
    const body = JSON.stringify({ url: destinationOf(alias), alias });
    const response = await this.#api("/v1/links", "--json", body);
    assert.equal(response.status, 201, response.body);
    return linkSchema.parse(JSON.parse(response.body));
  }

  /** Follows a link once: a click. */
  async follow({ alias }: Link): Promise<void> {
    const { status, location } = await this.get(`http://127.0.0.1/${alias}`);
    assert.deepEqual([status, location], [302, destinationOf(alias)]);
  }

  /** Waits until a link has exactly so many clicks. */
  expectClicks({ id }: Link, expected: number): Promise<void> {
    return eventually(async () => {
      const { body } = await this.#api(`/v1/links/${id}`);
      assert.equal(linkSchema.parse(JSON.parse(body)).clicks, expected);
    }, CLICKS_MS);
  }

  async readAnalytics({ id }: Link): Promise<z.output<typeof analyticsSchema>> {
    const { body } = await this.#api(`/v1/analytics/${id}?period=24h`);
    return analyticsSchema.parse(JSON.parse(body));
  }

  #api(path: string, ...options: string[]): Promise<Response> {
    const authorization = `Authorization: Bearer ${this.#key}`;
    return this.#curl(`${API_URL}${path}`, "--header", authorization, ...options);
  }

  async #curl(url: string, ...options: string[]): Promise<Response> {
    const format = "\\n%{http_code} %{redirect_url}";
    const common = ["--silent", "--show-error", "--max-time", "30", "--write-out", format];
    const words = [...common, ...options, url];
    const output = await this.#machine.run(`curl ${words.map(quote).join(" ")}`);
    const end = output.lastIndexOf("\n");
    const [status = "", location = ""] = output.slice(end + 1).split(" ");
    return { status: Number(status), location, body: output.slice(0, end) };
  }
}

const LOAD = join(import.meta.dir, "load.ts");

/** Few enough that also a slow machine stores the clicks while they arrive. */
const PER_SECOND = 50;

const countsSchema = z.record(z.string(), z.number());

type Requests = { url: string; host?: string; perSecond?: number; key?: string };

/** Requests in a machine's network, which go on until they are ended. */
export class Load {
  readonly #child: Bun.Subprocess<"pipe", "pipe", "inherit">;

  constructor(machine: Machine, { url, host = SHORT_HOST, perSecond = PER_SECOND, key }: Requests) {
    const words = [url, host, String(perSecond), ...(key === undefined ? [] : [key])];
    this.#child = machine.spawnInNetwork([process.execPath, LOAD, ...words]);
  }

  /** Ends them; returns how many got which status. */
  async end(): Promise<Record<string, number>> {
    this.#child.kill("SIGTERM");
    return countsSchema.parse(JSON.parse(await new Response(this.#child.stdout).text()));
  }
}

const destinationOf = (alias: string): string => `https://example.com/${alias}`;

/** Quotes a word for the shell. */
const quote = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
