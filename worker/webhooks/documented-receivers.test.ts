/** The receivers on the page accept what is signed, by either secret of a rotation, and nothing else. */
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { findFreePort } from "../../deploy/local/ports.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { PROJECT_DIR } from "../../test/harness/stack.ts";
import { signatureHeaders } from "./attempt.ts";

const page = await Bun.file(join(PROJECT_DIR, "docs/webhooks.md")).text();

const KEY = Buffer.alloc(32, 7);

const BODY = Buffer.from('{"type":"link.created","data":"Grüße"}');

/** The block of the page with this name, as it stands. */
function blockOf(name: string): string {
  const [, block] = new RegExp(`\`\`\`\\w+ ${name}\n([^]*?)\n\`\`\``).exec(page) ?? [];
  if (block === undefined) throw new Error(`There is no ${name}.`);
  return block;
}

test.each([
  ["node-receiver", "node", "receiver.mjs"],
  ["python-receiver", "python3", "receiver.py"],
])("%s", async (name, program, file) => {
  if (Bun.which(program) === null) throw new Error(`There is no ${program}.`);
  const dir = mkdtempSync(join(tmpdir(), "shorthop-receiver-"));
  writeFileSync(join(dir, file), blockOf(name));
  const port = findFreePort();
  const env = {
    ...process.env,
    PORT: String(port),
    WEBHOOK_SECRET: `whsec_${KEY.toString("base64")}`,
  };
  const receiver = Bun.spawn([program, join(dir, file)], {
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const send = async (headers: Record<string, string>, body = BODY): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers, body })).status;
  try {
    const now = Math.floor(Date.now() / 1_000);
    const message = { id: "event_1", timestamp: now, body: BODY };
    const headers = signatureHeaders(message, [KEY]);
    await eventually(async () => expect(await send(headers)).toBe(204));
    expect(await send(signatureHeaders(message, [Buffer.alloc(32, 8), KEY]))).toBe(204);
    expect(await send(signatureHeaders(message, [Buffer.alloc(32, 8)]))).toBe(400);
    expect(await send(headers, Buffer.from("{}"))).toBe(400);
    expect(await send({ ...headers, "webhook-signature": "é" })).toBe(400);
    expect(await send({})).toBe(400);
    const old = { ...message, timestamp: now - 600 };
    expect(await send(signatureHeaders(old, [KEY]))).toBe(400);
  } finally {
    receiver.kill();
    await receiver.exited;
    rmSync(dir, { recursive: true });
  }
});
