/**
 * A free account with everything that it may have more of: keys, members with sessions, webhooks
 * whose receivers take their time, shares that strangers read. It calls from a process of its own,
 * so that what it takes to call delays nobody who is measured.
 */
import * as z from "zod";

import { createAccount, createKey } from "../../test/harness/admin.ts";
import { call } from "../../test/harness/api.ts";
import { createUser, signIn } from "../../test/harness/dashboard.ts";
import { attachStack, type SharedStack, type Stack } from "../../test/harness/stack.ts";
import type { Combination } from "../../test/hostile/cost/pairs.ts";
import {
  createCalls,
  listParts,
  sendFilled,
  type Target,
} from "../../test/hostile/cost/targets.ts";
import { createFixtures } from "../../test/hostile/fixtures.ts";
import type { Fixtures } from "../../test/hostile/requests.ts";
import { readPorts, type Surface } from "../../test/hostile/routes.ts";

/** Of each it tries to have so many; what its plan refuses it does without. */
const TRIED = 20;
const MEMBERS = 5;
const SESSIONS_EACH = 4;

/** The receivers of its webhooks respond as late as that. */
const RECEIVER_MS = 5_000;

/** Every so many calls, a stranger reads a share. */
const SHARE_EVERY = 20;

const SCOPES =
  "links:read,links:write,links:delete,analytics:read,domains:read,domains:write,keys:read," +
  "webhooks:read,webhooks:write,shares:read,shares:write,reports:read,reports:write,events:read";

/** Routes after which it could no longer call the others, or which it cannot call. */
const LEFT_OUT = /\/sign-out|\/password|\/stream$|DELETE|\/rotate$/;

/** Calls so far. */
const counts = z.object({ sent: z.int(), refused: z.int() });

export type Attack = AsyncDisposable & {
  /** Calls for so many seconds; returns how often. */
  run(seconds: number): Promise<z.output<typeof counts>>;
};

/** Starts the attack's process, which prepares everything and waits. */
export async function startAttack(stack: Stack, lanes: number): Promise<Attack> {
  const child = Bun.spawn([process.execPath, import.meta.path, stack.dataDir, String(lanes)], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  if ((await lines.read()).done) throw new Error("The attack could not be prepared.");
  return {
    async run(seconds) {
      void child.stdin.write(`${seconds}\n`);
      await child.stdin.flush();
      return counts.parse(JSON.parse((await lines.read()).value ?? ""));
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

type Call = { target: Target; combination: Combination };

/** The account, and what calls in its name. */
class AttackingAccount {
  readonly #api: string;
  readonly #ports: Readonly<Record<Surface, number>>;
  readonly #fixtures: Fixtures;
  /** The inputs of all routes, for each of its keys. */
  readonly #calls: Call[][];
  readonly #shares: string[];
  #sent = 0;
  #refused = 0;

  private constructor(stack: SharedStack, fixtures: Fixtures, keys: string[], shares: string[]) {
    this.#api = stack.info().api_url;
    this.#ports = readPorts(stack);
    this.#fixtures = fixtures;
    this.#shares = shares;
    this.#calls = keys.map((enterpriseKey) =>
      createCalls(
        { ...fixtures, enterpriseKey },
        fixtures.linkId,
        false,
        ({ method, path }) => !LEFT_OUT.test(`${method} ${path}`),
      ).flatMap((target) => target.combinations.map((combination) => ({ target, combination }))),
    );
  }

  static async create(stack: SharedStack): Promise<AttackingAccount> {
    const account = await createAccount(stack, "free");
    const fixtures = await createFixtures(stack, account);
    const shares = await createShares(stack.info().api_url, account.key);
    const keys = [account.key];
    for (let i = 0; i < TRIED; i++) keys.push((await createKey(stack, account.id, SCOPES)).key);
    const cookies = [...fixtures.cookies];
    for (let i = 0; i < MEMBERS; i++) {
      const user = await createUser(stack, account.id);
      for (let k = 0; k < SESSIONS_EACH; k++) cookies.push((await signIn(stack, user)).cookie);
    }
    const [first = "", ...others] = cookies;
    return new AttackingAccount(stack, { ...fixtures, cookies: [first, ...others] }, keys, shares);
  }

  async run(seconds: number, lanes: number): Promise<z.output<typeof counts>> {
    const until = performance.now() + seconds * 1_000;
    const lane = async (): Promise<void> => {
      // A connection that is refused is the defence at work.
      while (performance.now() < until) await this.#send().catch(() => undefined);
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    return { sent: this.#sent, refused: this.#refused };
  }

  /** Sends the next call: by the next key the next input, and now and then a stranger's. */
  async #send(): Promise<void> {
    const number = ++this.#sent;
    if (number % SHARE_EVERY === 0) {
      const token = this.#shares[number % Math.max(1, this.#shares.length)] ?? "";
      await call(`${this.#api}/v1/shared/${token}`);
      return;
    }
    const own = this.#calls[number % this.#calls.length] ?? [];
    const chosen = own[Math.floor(number / this.#calls.length) % own.length];
    if (chosen === undefined) throw new Error("There are no calls.");
    const parts = listParts(chosen.target, chosen.combination);
    const sending = { share: 1, number, fixtures: this.#fixtures };
    const { status } = await sendFilled(chosen.target, parts, sending, this.#ports);
    if (status === 429) this.#refused++;
  }
}

/** Creates shares, and webhooks whose receivers fail late; returns the shares' tokens. */
async function createShares(api: string, key: string): Promise<string[]> {
  const receiver = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async () => {
      await Bun.sleep(RECEIVER_MS);
      return new Response(null, { status: 500 });
    },
  });
  const post = (path: string, body: unknown) => call(`${api}/v1${path}`, { key, body });
  const tokens: string[] = [];
  for (let i = 0; i < TRIED; i++) {
    await post("/webhooks", { url: `http://127.0.0.1:${receiver.port}/${i}`, events: ["*"] });
    const { body } = await post("/shares", { name: `share ${i}` });
    const share = z.looseObject({ token: z.string() }).safeParse(body);
    if (share.success) tokens.push(share.data.token);
  }
  return tokens;
}

if (import.meta.main) {
  const [dataDir = "", lanes = ""] = process.argv.slice(2);
  const account = await AttackingAccount.create(attachStack(dataDir));
  console.log("prepared");
  for await (const line of console)
    console.log(JSON.stringify(await account.run(Number(line), Number(lanes))));
  // Whoever started it has ended.
  process.exit(0);
}
