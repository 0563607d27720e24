/** Goal: who has just published a record, and verifies again, is not told of an earlier answer. */
import { expect, test } from "bun:test";

import { startDns } from "../../test/harness/dns.ts";
import { createTxtReader } from "./dns.ts";

test("each look-up asks DNS anew, also for a record that it has just not found", async () => {
  await using dns = await startDns();
  const readTxt = createTxtReader([dns.address]);
  const name = "_shorthop.fresh.example.com";
  expect(await readTxt(name)).toEqual([]);
  dns.set(name, []);
  expect(await readTxt(name)).toEqual([]);
  dns.set(name, ["first"]);
  expect(await readTxt(name)).toEqual(["first"]);
  dns.set(name, ["second"]);
  expect(await readTxt(name)).toEqual(["second"]);
  dns.set(name, "fail");
  expect(await readTxt(name).catch((error: unknown) => error)).toMatchObject({ status: 503 });
});
