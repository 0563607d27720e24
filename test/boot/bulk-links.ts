/** Links by the thousand on booted machines. */
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";

import * as z from "zod";

import { UNLIMITED } from "../harness/admin.ts";
import { API_URL, SHORT_HOST } from "./calls.ts";
import type { Machine } from "./machine.ts";

/**
 * Both redirectors of a machine share its port: each request has a connection of its own, to either
 * of them.
 */
export const REDIRECTORS = ["http://127.0.0.1", "http://127.0.0.1"];

const PROGRAM = join(import.meta.dir, "bulk-links-process.ts");

const account = z.object({ key: z.string() });
const answer = z.string().nullable();

/** What {@link startBulkLinks} does, as `BulkLinks` describes it. */
export type MachineLinks = {
  prepare(count: number): Promise<void>;
  create(count: number): Promise<void>;
  change(count: number): Promise<void>;
  expectCurrent(after: string): Promise<void>;
  expectConsumers(): Promise<void>;
  /** Goes on with these redirectors. */
  use(redirectors: readonly string[]): Promise<void>;
};

/**
 * Makes an account for them, and starts a process in the machine's network, which ends with this
 * one. `secrets` is the machine's file of them.
 */
export async function startBulkLinks(
  machine: Machine,
  redirectors: readonly string[],
  secrets: string,
): Promise<MachineLinks> {
  const limits = JSON.stringify(UNLIMITED);
  const created = await machine.run(
    `shorthop accounts create --name Bulk --plan enterprise --limits '${limits}' --key --json`,
  );
  const { key } = account.parse(JSON.parse(created));
  // As the operator, who alone may list consumers.
  const nats = await machine.run(
    `. ${secrets}; sed --quiet 's/^NATS_URL=//p' /etc/shorthop/api.env | sed "s#//api:[^@]*@#//operator:$NATS_OPERATOR@#"`,
  );
  const options = { key, api: API_URL, nats: nats.trim(), host: SHORT_HOST, redirectors };
  const child = machine.spawnInNetwork([process.execPath, PROGRAM, JSON.stringify(options)]);
  const lines = createInterface({ input: Readable.fromWeb(child.stdout) })[Symbol.asyncIterator]();
  let last: Promise<unknown> = Promise.resolve();

  /** Sends a command when the one before is done. */
  async function send(...command: unknown[]): Promise<void> {
    const answered = last.then(async () => {
      void child.stdin.write(`${JSON.stringify(command)}\n`);
      await child.stdin.flush();
      const { value, done } = await lines.next();
      if (done === true) throw new Error("The process of the bulk links has ended.");
      return answer.parse(JSON.parse(value));
    });
    last = answered.catch(() => undefined);
    const error = await answered;
    if (error !== null) throw new Error(error);
  }

  return {
    prepare: (count) => send("prepare", count),
    create: (count) => send("create", count),
    change: (count) => send("change", count),
    expectCurrent: (after) => send("expectCurrent", after),
    expectConsumers: () => send("expectConsumers"),
    use: (others) => send("use", others),
  };
}
