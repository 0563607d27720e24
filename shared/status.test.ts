/**
 * Goal: a process answers how it is also when a store does not respond, runs on when it may not
 * answer, and publishes nowhere but where answers belong.
 */
import { expect, spyOn, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { connect, createInbox, type NatsConnection } from "nats";

import { findNatsServer } from "../deploy/local/nats.ts";
import { findFreePort } from "../deploy/local/ports.ts";
import { eventually } from "../test/harness/eventually.ts";
import { dirForFile, forFile } from "../test/harness/for-file.ts";
import { PROJECT_DIR } from "../test/harness/stack.ts";
import { LINES_PER_MINUTE, processLog } from "./log.ts";
import { Replies } from "./nats.ts";
import { answerStatus, processStatus, STATUS_SUBJECT } from "./status.ts";

const START_MS = 20_000;

const open = (user: string) => connect({ servers: url, user, pass: "x" });

/** A server with a user who may answer, and one of before that was possible. */
const dir = dirForFile("shorthop-status-");
const port = findFreePort();
const url: string = `127.0.0.1:${port}`;
const file = join(dir, "nats.conf");
writeFileSync(
  file,
  `listen: "${url}"
authorization { users: [
  { user: new, password: x }
  { user: old, password: x, permissions: { publish: "links.>", subscribe: "_INBOX.>" } }
] }`,
);
const program = await findNatsServer(join(PROJECT_DIR, ".local", "bin"), console.log);
await forFile(Bun.spawn([program, "-c", file], { stdio: ["ignore", "ignore", "ignore"] }));
await eventually(async () => await (await open("new")).close(), START_MS);

/** Starts a process that answers with a user's connection; returns it with what is logged. */
async function start(user: string, readiness: () => Promise<Record<string, string>>) {
  const nats = await open(user);
  const log = processLog("test", "silent");
  const warn = spyOn(log, "warn");
  const logError = spyOn(log, "error");
  const replies = new Replies(log);
  answerStatus(
    Promise.resolve(nats),
    replies,
    {
      process: "worker",
      health: { readiness, warnings: () => ({ replicas: undefined }) },
      figures: () => ({ owner: true, owner_epoch: undefined }),
    },
    log,
  );
  await nats.flush();
  return { nats, warn, logError, replies };
}

async function ask(nats: NatsConnection) {
  const { data } = await nats.request(STATUS_SUBJECT, "", { timeout: START_MS });
  return processStatus.parse(JSON.parse(new TextDecoder().decode(data)));
}

test("a store that does not respond makes the process unready, and does not keep it from answering", async () => {
  const { nats } = await start("new", () => new Promise(() => undefined));
  expect(await ask(nats)).toMatchObject({
    process: "worker",
    instance: null,
    pid: process.pid,
    status: "not_ready",
    parts: { readiness: "no response within 1000 ms" },
    warnings: {},
    figures: { owner: true },
  });
  await nats.close();
});

test("a process without the permission says so once, and its connection works on", async () => {
  const { nats, warn } = await start("old", async () => ({ process: "ok" }));
  await eventually(
    async () =>
      expect(warn.mock.calls).toEqual([[{ error: expect.any(Error) }, "status_not_answered"]]),
    START_MS,
  );
  nats.publish("links.x", "y");
  await nats.flush();
  expect(nats.isClosed()).toBe(false);
  await nats.close();
});

test.each([
  "links._.victim",
  "links._.@takedowns",
  "limits.victim",
  "clicks.segment",
  "failures.ack.1",
  "$JS.API.STREAM.PURGE.CLICKS",
  "_INBOX",
  "_INBOXES.a.b",
  "_INBOX_api",
  "_INBOX.a.>",
  "x._INBOX.a.b",
  undefined,
])(
  "a request that wants its answer at %s gets none, which is logged and counted",
  async (reply) => {
    const { nats, replies, logError } = await start("new", async () => ({ process: "ok" }));
    const asker = await open("new");
    const seen: string[] = [];
    asker.subscribe(">", { callback: (_, message) => void seen.push(message.subject) });
    asker.publish(STATUS_SUBJECT, "", reply === undefined ? {} : { reply });
    await asker.flush();
    // Answered after it, so that an answer to it would have come before.
    await ask(nats);
    await asker.flush();
    expect(
      seen.filter((subject) => subject !== STATUS_SUBJECT && !subject.startsWith("_INBOX.")),
    ).toEqual([]);
    expect(replies.refused).toBe(1);
    expect(logError.mock.calls).toEqual([[{ reason: STATUS_SUBJECT }, "reply_refused"]]);
    await Promise.all([nats.close(), asker.close()]);
  },
);

test("a flood of such requests writes few lines", async () => {
  const { nats, replies, logError } = await start("new", async () => ({ process: "ok" }));
  const requests = 10 * LINES_PER_MINUTE;
  for (let i = 0; i < requests; i++) nats.publish(STATUS_SUBJECT, "", { reply: "links._.victim" });
  await eventually(async () => expect(replies.refused).toBe(requests), START_MS);
  expect(logError).toHaveBeenCalledTimes(LINES_PER_MINUTE);
  await nats.close();
});

test.each([createInbox(), createInbox("_INBOX_api"), "_INBOX_operator.a.b"])(
  "a request that wants its answer at the inbox %s gets it",
  async (reply) => {
    const { nats } = await start("new", async () => ({ process: "ok" }));
    const answered = Promise.withResolvers<Uint8Array>();
    nats.subscribe(reply, { callback: (_, { data }) => answered.resolve(data) });
    nats.publish(STATUS_SUBJECT, "", { reply });
    expect(JSON.parse(new TextDecoder().decode(await answered.promise))).toMatchObject({
      status: "ready",
    });
    await nats.close();
  },
);
