/** Goal: operators manage accounts and keys by the command line, and see no secrets. */
import { describe, expect, test } from "bun:test";

import {
  admin,
  createAccount,
  createKey,
  type NewAccount,
  type NewKey,
  runAdmin,
} from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { forFile } from "../harness/for-file.ts";
import { useStack } from "../harness/stack.ts";

const stack = await forFile(useStack());
const account = await createAccount(stack, "enterprise");

const api = (path: string) => `${stack.info().api_url}${path}`;

describe("the operator's command line", () => {
  test("lists accounts and keys without secrets, and rotates a key", async () => {
    const accounts = await admin<{ id: string; plan: string }[]>(stack, ["accounts", "list"]);
    expect(accounts).toContainEqual(
      expect.objectContaining({ id: account.id, plan: "enterprise" }),
    );
    const { id, key } = await createKey(stack, account.id, "links:read");
    const rotate = ["keys", "rotate", id, "--grace", "0"];
    const rotated = await admin<{ id: string; key: string }>(stack, rotate);
    expect(Object.keys(rotated)).toEqual(["id", "key"]);
    expect((await call(api("/v1/limits"), { key })).status).toBe(403);
    expect((await call(api("/v1/limits"), { key: rotated.key })).status).toBe(200);
    const { stdout } = await runAdmin(stack, ["keys", "list", "--account", account.id]);
    expect(stdout).toContain(rotated.id);
    expect(stdout).not.toContain(rotated.key);
  });

  test("creates accounts with limits, and keys of a type with scopes that expire", async () => {
    const limits = { minute: 77, burst: 78 };
    const create = ["accounts", "create", "--name", "Limited", "--plan", "enterprise", "--key"];
    create.push("--limits", JSON.stringify(limits));
    const created = await admin<NewAccount>(stack, create);
    const { body } = await call(api("/v1/limits"), { key: created.key });
    expect(JSON.stringify(body)).toContain(`"limit":77`);
    const expires = "2099-01-01T00:00:00.000Z";
    const createTestKey = ["keys", "create", "--account", created.id, "--name", "k"];
    createTestKey.push("--type", "test", "--scopes", "links:read, keys:read", "--expires", expires);
    const key = await admin<NewKey>(stack, createTestKey);
    expect(key.key).toStartWith("sk_test_");
    expect((await call(api(`/v1/keys/${key.id}`), { key: key.key })).body).toMatchObject({
      scopes: ["links:read", "keys:read"],
      expires_at: expires,
    });
  });

  test.each([
    ["accounts create --name x --plan gold", 2, "gold"],
    ["accounts create --plan free", 2, "--name"],
    [`accounts create --name x --plan free --limits {"minute":5}`, 1, "enterprise"],
    [`accounts create --name x --plan enterprise --limits {"minute":0}`, 2, "minute: Too small"],
    [
      `accounts create --name x --plan enterprise --limits {"minutes":5}`,
      2,
      'Unrecognized key: "minutes". It must be JSON such as {"minute":600,',
    ],
    ["keys revoke key_nonsense", 2, "key_"],
    ["keys revoke key_01m7xx1r0feg6ayt089t7p6rr5", 1, "does not exist"],
    ["links disable --alias no-such-alias", 1, "does not exist"],
    ["links disable --account acct_01k9z3v6x7e8w9r0t1y2n3h4m5", 1, "does not exist"],
    ["links disable --alias a --host example.com", 1, "Give one of"],
    ["links disable --domain go.example.com --host example.com", 1, "--domain says where"],
    ["links disable --host example.com/path", 2, "--host"],
    ["links disable", 1, "Give one of"],
    ["links enable --host never.example", 1, "does not exist"],
    ["nonsense", 2, "nonsense"],
    ["--help", 0, ""],
  ] as const)("%s exits with %i", async (words, code, problem) => {
    const result = await runAdmin(stack, words.split(" "));
    expect(result.code).toBe(code);
    expect(result.stderr).toContain(problem);
    if (code !== 0) expect(result.stdout).toBe("");
  });
});
