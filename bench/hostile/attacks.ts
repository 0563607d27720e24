/**
 * Attacks on a stack, each by one kind of fault that was found before: what costs much for little
 * input, what waits, and what never ends. Beside them, the generated inputs of the hostile suite,
 * for each process.
 */
import type { NatsConnection } from "nats";

import { newUuid } from "../../shared/ids.ts";
import { call, callOnce, linkSchema } from "../../test/harness/api.ts";
import { SIGNER } from "../../test/harness/links-log.ts";
import type { Stack } from "../../test/harness/stack.ts";
import { MESSAGES, sendMessage } from "../../test/hostile/cost/messages.ts";
import { listLinks } from "../../test/hostile/cost/visitors.ts";
import { Inputs } from "../../test/hostile/inputs.ts";
import type { Fixtures } from "../../test/hostile/requests.ts";
import { listRoutes, readPorts } from "../../test/hostile/routes.ts";
import { sampleConditions } from "../../test/hostile/schema-values.ts";
import { PROCESS_OF, WATCHED_PROCESSES, type WatchedProcess } from "../../test/hostile/watch.ts";
import { sendInput } from "../../test/hostile/wire.ts";

export type Attack = {
  name: string;
  /** The process that it attacks. */
  process: WatchedProcess;
  /** Connections that send at the same time. */
  lanes: number;
  /** Sends number `i`, and resolves when it is over. */
  send: (i: number) => Promise<unknown>;
};

export type AttackDeps = {
  stack: Stack;
  fixtures: Fixtures;
  nats: NatsConnection;
  seed: number;
};

/** Bytes of a head beside its query. */
const QUERY_BYTES = 14_000;

/** Clients with other addresses, of which each limit by network sees one request. */
const addressOf = (i: number): string =>
  `100.${64 + ((i >> 16) & 63)}.${(i >> 8) & 255}.${i & 255}`;

/** Creates the links that attacks visit, and lists the attacks. */
export async function listAttacks(deps: AttackDeps): Promise<Attack[]> {
  const { api_url } = deps.stack.info();
  const conditions = sampleConditions();
  for (const { alias, body } of listLinks(conditions)) {
    const { status } = await call(`${api_url}/v1/links`, {
      key: deps.fixtures.enterpriseKey,
      body: { ...body, alias },
    });
    if (status !== 201) throw new Error(`${alias}: ${status}`);
  }
  return [
    ...listVisits(deps),
    ...(await listCalls(deps)),
    ...listMessages(deps),
    ...listGenerated(deps),
  ];
}

const get = (i: number, path: string, fields = ""): string =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: ${addressOf(i)}\r\n${fields}\r\n`;

function listVisits({ stack }: AttackDeps): Attack[] {
  const { redirector: port } = readPorts(stack);
  const visit = (
    name: string,
    lanes: number,
    pipelined: number,
    request: (i: number) => string,
    process: WatchedProcess = "redirector",
  ): Attack => ({
    name,
    process,
    lanes,
    send: (i) =>
      sendInput(
        {
          bytes: Buffer.from(
            Array.from({ length: pipelined }, (_, j) => request(i * pipelined + j)).join(""),
            "latin1",
          ),
          methods: Array<string>(pipelined).fill("GET"),
          delivery: { kind: "whole" },
          complete: true,
        },
        port,
      ),
  });
  const parameters = "a&".repeat(QUERY_BYTES / 2);
  return [
    visit("20 connections pipeline 32 requests for rules", 20, 32, (i) =>
      get(i, `/cost-rules-query?${parameters}`),
    ),
    visit("950 connections pipeline 4 requests for rules", 950, 4, (i) =>
      get(i, `/cost-rules-all?n=${i}`),
    ),
    visit("unknown aliases", 100, 1, (i) => get(i, `/unknown-${i}`)),
    visit("unknown hosts", 100, 1, (i) =>
      get(i, "/").replace("Host: localhost", `Host: h${i}.example.com`),
    ),
    visit(
      "clicks with new user agents and referrers",
      50,
      1,
      (i) =>
        get(
          i,
          "/cost-plain",
          `User-Agent: Mozilla/5.0 (${i}) ${"Android 1; ".repeat(40)}\r\n` +
            `Referer: https://r${i}.\xc3\xa9xample.com/${"a/".repeat(200)}\r\n`,
        ),
      "worker",
    ),
    {
      ...visit("wrong passwords", 20, 1, () => ""),
      send: (i) =>
        fetch(`${stack.info().short_url}/attacked-protected`, {
          method: "POST",
          body: new URLSearchParams({ password: `wrong ${i}` }),
          headers: { "x-forwarded-for": addressOf(i) },
          redirect: "manual",
        }).then((response) => response.arrayBuffer()),
    },
  ];
}

async function listCalls({ stack, fixtures }: AttackDeps): Promise<Attack[]> {
  const { api_url } = stack.info();
  const key = fixtures.enterpriseKey;
  const lookUp = await call(`${api_url}/v1/links/lookup?alias=cost-rules-all`, { key });
  const { id } = linkSchema.parse(lookUp.body);
  const api = (name: string, path: string, makeBody?: (i: number) => unknown): Attack => ({
    name,
    process: "api",
    lanes: 10,
    send: (i) =>
      callOnce(`${api_url}${path}`, {
        key,
        ...(makeBody === undefined ? {} : { body: makeBody(i) }),
      }),
  });
  return [
    api("explanations", `/v1/links/${id}/explain`, (i) => ({
      query: `${i}&${"a&".repeat(4_000)}`,
      user_agent: `Mozilla/5.0 (${i}) ${"Android 1; ".repeat(700)}`,
      language: "de;q=0.1,".repeat(900),
    })),
    api("bulk requests of 100 links", "/v1/links/bulk", (i) => ({
      links: Array.from({ length: 100 }, () => ({
        url: `https://example.com/${i}/${"a".repeat(7_000)}`,
        tags: Array.from({ length: 20 }, (_, tag) => `tag ${tag}`),
      })),
    })),
    api("most values of JSON", "/v1/links", () =>
      Object.fromEntries(Array.from({ length: 9_900 }, (_, i) => [`f${i}`, 1])),
    ),
    api("analytics with filters", "/v1/analytics?period=90d&device=-mobile&compare=previous"),
    api("readings of limits", "/v1/limits"),
    {
      name: "keys that do not exist",
      process: "api",
      lanes: 20,
      send: (i) =>
        callOnce(`${api_url}/v1/links`, {
          key: `sk_live_${String(i).padStart(12, "0")}${"x".repeat(43)}`,
          headers: { "x-forwarded-for": addressOf(i) },
        }),
    },
    {
      name: "exports that nobody reads",
      process: "api",
      lanes: 5,
      async send() {
        const response = await fetch(`${api_url}/v1/clicks/export?period=90d`, {
          headers: { authorization: `Bearer ${key}` },
        });
        await Bun.sleep(5_000);
        await response.body?.cancel();
      },
    },
  ];
}

/** No message here is an entry of the links log, which have a database. */
const NO_DATABASE = newUuid();

/** Messages as somebody sends them who has the password of a process. */
const listMessages = ({ nats }: AttackDeps): Attack[] =>
  MESSAGES.filter(({ process }) => process === "worker").map((message) => ({
    name: `messages: ${message.name}`,
    process: message.process,
    lanes: 4,
    send: (i) => sendMessage(nats, SIGNER, message, message.make(1, i, NO_DATABASE)),
  }));

/** The generated inputs of the suite, at the listeners of each process. */
const listGenerated = ({ stack, fixtures, seed }: AttackDeps): Attack[] =>
  WATCHED_PROCESSES.map((process) => {
    const routes = listRoutes().filter(({ surface }) => PROCESS_OF[surface] === process);
    const inputs = new Inputs(seed, routes, fixtures);
    const ports = readPorts(stack);
    return {
      name: "generated inputs on every route",
      process,
      lanes: 64,
      async send(i) {
        const input = inputs.make(i);
        await sendInput(input, ports[input.route.surface]);
      },
    };
  });
