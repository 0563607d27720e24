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
import { createCalls, listParts, sendFilled } from "../../test/hostile/cost/targets.ts";
import { createFixtures } from "../../test/hostile/fixtures.ts";
import { readPorts } from "../../test/hostile/ports.ts";

/** Of each it tries to have so many; what its plan refuses it does without. */
const TRIED = 20;
const MEMBERS = 5;
const SESSIONS_EACH = 4;

/** The receivers of its webhooks respond as late as that. */
const RECEIVER_MS = 5_000;

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

/** Prepares the attack on a stack; returns what calls for so many seconds. */
async function prepare(stack: SharedStack, lanes: number): Promise<Attack["run"]> {
  const { api_url: api } = stack.info();
  const account = await createAccount(stack, "free");
  const first = await createFixtures(stack, account);
  const receiver = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async () => {
      await Bun.sleep(RECEIVER_MS);
      return new Response(null, { status: 500 });
    },
  });
  const post = (path: string, body: unknown) =>
    call(`${api}/v1${path}`, { key: account.key, body });
  const tokens: string[] = [];
  for (let i = 0; i < TRIED; i++) {
    await post("/webhooks", { url: `http://127.0.0.1:${receiver.port}/${i}`, events: ["*"] });
    const { body } = await post("/shares", { name: `share ${i}` });
    const share = z.looseObject({ token: z.string() }).safeParse(body);
    if (share.success) tokens.push(share.data.token);
  }
  const keys = [account.key];
  for (let i = 0; i < TRIED; i++) {
    const { key } = await createKey(stack, account.id, SCOPES);
    keys.push(key);
  }
  const cookies: string[] = [];
  for (let i = 0; i < MEMBERS; i++) {
    const user = await createUser(stack, account.id);
    for (let k = 0; k < SESSIONS_EACH; k++) cookies.push((await signIn(stack, user)).cookie);
  }
  const [cookie = "", ...others] = cookies;
  const calls = keys.map((enterpriseKey) =>
    createCalls(
      { ...first, enterpriseKey, cookies: [cookie, ...others] },
      first.linkId,
      false,
      ({ method, path }) => !LEFT_OUT.test(`${method} ${path}`),
    ).flatMap((target) => target.combinations.map((combination) => ({ target, combination }))),
  );
  const ports = readPorts(stack);
  let [sent, refused] = [0, 0];

  /** The next call: by the next key, then the next input, and now and then a stranger's. */
  async function send(): Promise<void> {
    const number = ++sent;
    if (number % 20 === 0) {
      const token = tokens[number % Math.max(1, tokens.length)] ?? "";
      await call(`${api}/v1/shared/${token}`);
      return;
    }
    const own = calls[number % calls.length] ?? [];
    const chosen = own[Math.floor(number / calls.length) % own.length];
    if (chosen === undefined) throw new Error("There are no calls.");
    const { target, combination } = chosen;
    const sending = {
      share: 1,
      number,
      fixtures: { ...first, cookies: [cookie, ...others] as const },
    };
    const { status } = await sendFilled(target, listParts(target, combination), sending, ports);
    if (status === 429) refused++;
  }

  return async (seconds) => {
    const until = performance.now() + seconds * 1_000;
    const lane = async (): Promise<void> => {
      // A connection that is refused is the defence at work.
      while (performance.now() < until) await send().catch(() => undefined);
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    return { sent, refused };
  };
}

if (import.meta.main) {
  const [dataDir = "", lanes = ""] = process.argv.slice(2);
  const run = await prepare(attachStack(dataDir), Number(lanes));
  console.log("prepared");
  for await (const line of console) console.log(JSON.stringify(await run(Number(line))));
}
