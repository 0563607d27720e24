/**
 * A whole redundant fleet: three NATS servers from the shipped files, PostgreSQL with a standby,
 * two redirectors, two workers and two API processes. A killed process is started again at the same
 * address, as systemd does.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { NatsConnection } from "nats";
import * as z from "zod";

import { findFreePort } from "../../../deploy/local/ports.ts";
import { presentFolder } from "../../../redirector/links/store-files.ts";
import { StoreReader } from "../../../redirector/links/store.ts";
import { CLICKS_STREAM } from "../../../shared/contracts/streams.ts";
import { LINK_LOG_STREAM } from "../../../shared/links-log/tail.ts";
import { UNLIMITED } from "../../harness/admin.ts";
import { TestClickHouse } from "../../harness/clickhouse.ts";
import { runProgram } from "../../harness/executable.ts";
import { NatsCluster } from "../../harness/nats-cluster.ts";
import type { NatsProgram } from "../../harness/nats.ts";
import { PostgresPair } from "../../harness/postgres-pair.ts";
import {
  type ExtraProcess,
  type Services,
  startApi,
  startRedirector,
  startWorker,
} from "../../harness/processes.ts";
import { findProcesses } from "../../harness/stack.ts";
import { Member } from "./member.ts";
import { type Topology, withNats } from "./topology.ts";

const REPLICAS = 3;

/** A server that has just come back may not know its streams yet. */
const STREAM_TIMEOUT_MS = 1_000;

/** Webhooks may have receivers of tests. */
const WEBHOOK_ENV = {
  WEBHOOKS_SECRET: "secret of the webhooks of this test",
  WEBHOOK_NETWORKS_ALLOWED: "127.0.0.0/8",
  WEBHOOK_PORTS_ALLOWED: "*",
};

export class Fleet implements Topology {
  readonly isMirrored = false;
  readonly nats: NatsCluster;
  readonly postgres: PostgresPair;
  readonly members: Members;
  readonly #env: StoreEnv;
  readonly #dataDir: string;
  readonly #resources: AsyncDisposableStack;

  static async start(program: NatsProgram): Promise<Fleet> {
    await using cleanup = new AsyncDisposableStack();
    const dataDir = mkdtempSync(join(tmpdir(), "shorthop-fleet-"));
    cleanup.defer(() => rmSync(dataDir, { recursive: true, force: true }));
    const [nats, postgres, clickhouse] = await Promise.all([
      NatsCluster.start(program).then((started) => cleanup.use(started)),
      PostgresPair.start("shorthop").then((started) => cleanup.use(started)),
      TestClickHouse.startIn(dataDir),
    ]);
    cleanup.defer(() => clickhouse.stop());
    const env = { DATABASE_URL: postgres.url, CLICKHOUSE_URL: clickhouse.url };
    await runProgram(["api", "migrate"], env);
    await runProgram(["worker", "migrate"], env);
    const stores = { nats, postgres, env, dataDir };
    return new Fleet(stores, await startMembers(stores, cleanup), cleanup.move());
  }

  private constructor(
    { nats, postgres, env, dataDir }: FleetStores,
    members: Members,
    resources: AsyncDisposableStack,
  ) {
    this.nats = nats;
    this.postgres = postgres;
    this.members = members;
    this.#env = env;
    this.#dataDir = dataDir;
    this.#resources = resources;
  }

  apis(): readonly string[] {
    return this.members.apis.map(({ url }) => url);
  }

  redirectors(): readonly string[] {
    return this.members.redirectors.map(({ member }) => member.url);
  }

  clickhouseUrl = (): string => this.#env.CLICKHOUSE_URL;

  connectNats(): Promise<NatsConnection> {
    return this.nats.connect("operator");
  }

  connectLinksNats(): Promise<NatsConnection> {
    return this.connectNats();
  }

  async createKey(): Promise<string> {
    const account = ["accounts", "create", "--name", "Fleet", "--plan", "enterprise", "--key"];
    const limits = ["--limits", JSON.stringify(UNLIMITED), "--json"];
    const created: { key: string } = JSON.parse(
      await runProgram([...account, ...limits], this.#env),
    );
    return created.key;
  }

  /** Every server has all messages again: two dead servers of three would be another scenario. */
  async expectRunning(): Promise<void> {
    await withNats(this.connectNats(), async (operator) => {
      const { streams } = await operator.jetstreamManager({ timeout: STREAM_TIMEOUT_MS });
      for (const stream of [LINK_LOG_STREAM, CLICKS_STREAM]) {
        const { cluster } = await streams.info(stream);
        if (cluster?.replicas?.filter(({ current }) => current).length !== REPLICAS - 1)
          throw new Error(`${stream} is not replicated again.`);
      }
    });
  }

  findLeftovers(): readonly string[] {
    return findProcesses(this.#dataDir).map(({ command }) => command);
  }

  describe(): Promise<string> {
    return describePositions(
      this.nats,
      this.members.redirectors.map(({ member, linksDir }) => ({ url: member.url, linksDir })),
    );
  }

  logs(): Record<string, string> {
    const { apis, workers, redirectors } = this.members;
    const all = { api: apis, worker: workers, redirector: redirectors.map(({ member }) => member) };
    const logs = Object.entries(all).flatMap(([name, members]) =>
      members.map((member, i): [string, string] => [`${name}-${i + 1}.log`, member.output()]),
    );
    return { "nats.log": this.nats.output(), ...Object.fromEntries(logs) };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#resources.disposeAsync();
  }
}

type StoreEnv = { DATABASE_URL: string; CLICKHOUSE_URL: string };

type FleetStores = { nats: NatsCluster; postgres: PostgresPair; env: StoreEnv; dataDir: string };

type Members = {
  apis: readonly Member[];
  workers: readonly Member[];
  redirectors: readonly { member: Member; linksDir: string }[];
};

/** Starts two of each process, which are stopped by `cleanup`. */
async function startMembers(
  { nats, env, dataDir }: FleetStores,
  cleanup: AsyncDisposableStack,
): Promise<Members> {
  const services: Services = {
    dataDir,
    info: () => ({
      nats_url: nats.url("operator"),
      short_url: "http://localhost",
      database_url: env.DATABASE_URL,
      clickhouse_url: env.CLICKHOUSE_URL,
    }),
  };
  const settingsOf = (user: "api" | "redirector" | "worker") => ({
    ...nats.env,
    ...WEBHOOK_ENV,
    NATS_URL: nats.url(user),
    NATS_REPLICAS: String(REPLICAS),
  });
  const add = async (start: () => Promise<ExtraProcess>): Promise<Member> => {
    const member = await Member.start(start);
    cleanup.defer(() => member.stop());
    return member;
  };
  const [apis, workers, redirectors] = await Promise.all([
    two(() => {
      const API_PORT = String(findFreePort());
      return add(() => startApi(services, { ...settingsOf("api"), API_PORT }));
    }),
    two(() => add(() => startWorker(services, settingsOf("worker")))),
    two(async (i) => {
      const JOURNAL_DIR = join(dataDir, `journal-${i}`);
      mkdirSync(JOURNAL_DIR);
      const own = { JOURNAL_DIR, REDIRECTOR_PORT: String(findFreePort()) };
      const settings = { ...settingsOf("redirector"), ...own };
      const member = await add(() => startRedirector(services, settings));
      return { member, linksDir: join(JOURNAL_DIR, "links") };
    }),
  ]);
  return { apis, workers, redirectors };
}

const two = <T>(start: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all([start(1), start(2)]);

const jetStreamSchema = z.object({
  account_details: z.array(
    z.object({
      stream_detail: z.array(
        z.object({
          name: z.string(),
          state: z.object({ messages: z.int(), last_seq: z.int() }),
        }),
      ),
    }),
  ),
});

/**
 * One line, to explain a link that is outdated: the last message of the stream on each server, and
 * in the store of each redirector.
 */
async function describePositions(
  nats: NatsCluster,
  redirectors: readonly { url: string; linksDir: string }[],
): Promise<string> {
  const servers = nats.servers.map(async ({ name, monitoringPort }) => {
    const response = await fetch(`http://127.0.0.1:${monitoringPort}/jsz?streams=true`);
    const streams = jetStreamSchema
      .parse(await response.json())
      .account_details.flatMap(({ stream_detail }) => stream_detail);
    const { messages, last_seq } =
      streams.find((stream) => stream.name === LINK_LOG_STREAM)?.state ?? {};
    return `${name}: ${messages} up to ${last_seq}`;
  });
  const stores = redirectors.map(async ({ url, linksDir }) => {
    const store = new StoreReader(presentFolder(linksDir));
    try {
      return `${url}: ${JSON.stringify(store.state())}`;
    } finally {
      store.close();
    }
  });
  const lines = await Promise.allSettled([...servers, ...stores]);
  return lines
    .map((line) => (line.status === "fulfilled" ? line.value : String(line.reason)))
    .join("; ");
}
