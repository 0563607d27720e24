/**
 * Bulk links in the network of a booted machine: `bun bulk-links-process.ts OPTIONS`, as JSON. Each
 * line of its input is a command, `[NAME, …ARGUMENTS]`; it answers each with one line, `null` or
 * the error's message.
 */
import { createInterface } from "node:readline";

import { connect } from "nats";
import * as z from "zod";

import { natsLogin } from "../../shared/nats.ts";
import { BulkLinks } from "../harness/bulk-links.ts";

const options = z.object({
  key: z.string(),
  api: z.string(),
  nats: z.string(),
  host: z.string(),
  redirectors: z.array(z.string()),
});

const command = z.union([
  z.tuple([z.literal("expectConsumers")]),
  z.tuple([z.enum(["prepare", "create", "change"]), z.int()]),
  z.tuple([z.literal("expectCurrent"), z.string()]),
  z.tuple([z.literal("use"), z.array(z.string())]),
]);

const { key, api, nats, host, redirectors } = options.parse(JSON.parse(process.argv[2] ?? ""));
let used = redirectors;
const bulk = new BulkLinks({
  key,
  apis: () => [api],
  redirectors: () => used,
  // Those of a machine share one.
  stores: () => new Set(used.map((url) => new URL(url).hostname)).size,
  connectNats: () => connect(natsLogin(nats)),
  headers: { host },
  log: (line) => console.error(`    ${line}`),
});

async function run([name, argument]: z.output<typeof command>): Promise<void> {
  switch (name) {
    case "expectConsumers":
      return await bulk.expectConsumers();
    case "prepare":
    case "create":
    case "change":
      return await bulk[name](argument);
    case "expectCurrent":
      return await bulk.expectCurrent(argument);
    case "use":
      used = argument;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const error = await run(command.parse(JSON.parse(line))).then(
    () => null,
    (cause: unknown) => Bun.inspect(cause),
  );
  console.log(JSON.stringify(error));
}
process.exit();
