/** Goal: who has just published a record, and verifies again, is not told of an earlier answer. */
import { expect, test } from "bun:test";

import { Dns } from "../../test/harness/dns.ts";
import { resolveTxt } from "./verification.ts";

test("each look-up asks DNS anew, also for a record that it has just not found", async () => {
  await using dns = await Dns.start();
  const read = (name: string) => resolveTxt([dns.address], name);
  const name = "_shorthop.fresh.example.com";
  expect(await read(name)).toEqual([]);
  dns.set(name, []);
  expect(await read(name)).toEqual([]);
  dns.set(name, ["first"]);
  expect(await read(name)).toEqual(["first"]);
  dns.set(name, ["second"]);
  expect(await read(name)).toEqual(["second"]);
  dns.set(name, "fail");
  expect(await read(name).catch((error: unknown) => error)).toMatchObject({ status: 503 });
});

test("a record is what it is within the quotation marks that a DNS panel has kept", async () => {
  await using dns = await Dns.start();
  const name = "_shorthop.quoted.example.com";
  dns.set(name, [`"shorthop-verification=7f3a" `]);
  expect(await resolveTxt([dns.address], name)).toEqual(["shorthop-verification=7f3a"]);
});
