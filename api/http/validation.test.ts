import { describe, expect, test } from "bun:test";

import { Elysia } from "elysia";
import * as z from "zod";

import { ApiError } from "./errors.ts";
import { installValidation, validateValue } from "./validation.ts";

const DEPTH = 2_000;

/** A value that counts how often it is converted to text. */
function observed() {
  let written = 0;
  const value = {
    toJSON() {
      written++;
      return "";
    },
    toString() {
      written++;
      return "";
    },
  };
  return { value, written: () => written };
}

const strict = () => z.strictObject({ known: z.int() });

/** An app with one route per part of a request, and the errors of its requests. */
function createSite(sent: unknown) {
  const failures: unknown[] = [];
  const app = new Elysia({ normalize: false })
    .onError(({ error }) => {
      failures.push(error);
      return "failed";
    })
    .post("/body", () => "ok", { parse: () => sent, body: strict() })
    .get("/query", () => "ok", { query: strict() })
    .get("/params/:known", () => "ok", { params: strict() })
    .get("/headers", () => "ok", { headers: strict() })
    .get("/response", () => sent as { known: number }, { response: { 200: strict() } });
  installValidation(app.routes);
  return {
    failures,
    send: (path: string, method = "GET") =>
      app.handle(
        new Request(`http://localhost${path}`, {
          method,
          ...(method === "POST" ? { body: "{}" } : {}),
        }),
      ),
  };
}

describe("validation", () => {
  test.each([
    ["/body", "POST", 'Unknown field "a"'],
    ["/query?known=1", "GET", 'Invalid value for "known"'],
    ["/params/x", "GET", 'Invalid value for "known"'],
    ["/headers", "GET", "known is required"],
    ["/response", "GET", "Something went wrong"],
  ])(
    "an invalid value for %s is rejected without being converted to text",
    async (path, method, why) => {
      const { value, written } = observed();
      let nested: object = value;
      for (let i = 0; i < DEPTH; i++) nested = { nested };
      const { failures, send } = createSite({ known: 1, a: nested });
      await send(path, method);
      const [failure] = failures;
      expect(failures).toHaveLength(1);
      if (!(failure instanceof ApiError)) throw new Error(`Not an ApiError: ${String(failure)}`);
      expect(failure.message).toContain(why);
      expect(written()).toBe(0);
    },
  );

  test.each([
    [z.int(), "1", "must be a number"],
    [z.int(), 1.5, "must be a whole number"],
    [z.number(), Number.NaN, "must be a number"],
    [z.number(), Infinity, "must be a number"],
    [z.enum(["live", "test"]), "dead", "must be one of live, test"],
    [z.literal("live"), 1, "must be live"],
    [z.string().max(3), "long", "must have at most 3 characters"],
    [z.string().regex(/^a$/, "must be a"), "b", "must be a"],
  ])("a message says what a field must be (case %#)", async (schema, value, message) => {
    const app = new Elysia({ normalize: false })
      .onError(({ error }) => (error instanceof ApiError ? error.message : "not ours"))
      .post("/", () => "ok", { parse: () => ({ value }), body: z.strictObject({ value: schema }) });
    installValidation(app.routes);
    const response = await app.handle(
      new Request("http://localhost/", { method: "POST", body: "{}" }),
    );
    expect(await response.text()).toBe(`Invalid value for "value": ${message}.`);
  });

  test("an error names every invalid field, and one that is missing is required", async () => {
    const { failures, send } = createSite({ a: 1, b: 2 });
    await send("/body", "POST");
    const [failure] = failures;
    if (!(failure instanceof ApiError)) throw new Error(`Not an ApiError: ${String(failure)}`);
    expect(failure.envelope.error).toEqual({
      code: "invalid_request",
      message: "known is required.",
      param: "known",
      details: [
        { param: "known", message: "known is required." },
        { param: "a", message: 'Unknown field "a"; known here are known.' },
        { param: "b", message: 'Unknown field "b".' },
      ],
    });
  });

  test("an unknown field is told with those that are known, in whatever object it is", () => {
    const inner = z.strictObject({ a: z.int().optional(), b: z.int().optional() });
    const schema = z.strictObject({ list: z.array(inner).nullish(), own: inner.optional() });
    const messageOf = (value: unknown) => {
      try {
        return validateValue(schema, value);
      } catch (error) {
        return error instanceof ApiError && error.message;
      }
    };
    expect(messageOf({ lst: [] })).toBe('Unknown field "lst"; known here are list, own.');
    expect(messageOf({ own: { c: 1 } })).toBe('Unknown field "own.c"; known here are a, b.');
    expect(messageOf({ list: [{}, { c: 1 }] })).toBe(
      'Unknown field "list.1.c"; known here are a, b.',
    );
  });

  const kinds = z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("a"), not: z.boolean().optional() }),
    z.strictObject({ type: z.literal("b"), name: z.string().default("x") }),
  ]);
  const fields = {
    text: z.string().optional(),
    list: z.array(kinds).default([]),
    removable: z.string().nullish(),
    emptied: z
      .int()
      .nullable()
      .transform((value) => value ?? 0)
      .optional(),
  };
  const body = z.strictObject(fields);

  test.each<[string, unknown, unknown]>([
    ["a field", { text: null }, { list: [] }],
    ["a field with a default", { list: null }, { list: [] }],
    [
      "one that takes null",
      { removable: null, emptied: null },
      { list: [], removable: null, emptied: 0 },
    ],
    [
      "one of an object in a list",
      {
        list: [
          { type: "a", not: null },
          { type: "b", name: null },
        ],
      },
      { list: [{ type: "a" }, { type: "b", name: "x" }] },
    ],
  ])("null for %s is as if it was not sent, unless the field takes it", (_, sent, read) => {
    expect(validateValue(body, sent)).toEqual(read as never);
  });

  test.each<[string, unknown, string]>([
    ["that is required", { list: [{ type: null }] }, '"list.0.type"'],
    ["that is unknown", { other: null }, '"other"'],
    ["in a list", { list: [null] }, '"list.0"'],
  ])("null for one %s is an error", (_, sent, named) => {
    expect(() => validateValue(body, sent)).toThrow(named);
  });

  test("null in a change is for a value to remove, and else an error; objects in it are whole", () => {
    expect(() => validateValue(body, { text: null }, true)).toThrow('"text"');
    const change = { removable: null, emptied: null, list: [{ type: "a", not: null }] };
    expect(validateValue(body, change, true)).toEqual({
      ...change,
      emptied: 0,
      list: [{ type: "a" }],
    });
  });

  test("an unknown field's name is repeated only in part", async () => {
    const { failures, send } = createSite({ known: 1, ["🎈".repeat(500_000)]: 1 });
    await send("/body", "POST");
    const [failure] = failures;
    const { message } = failure as ApiError;
    expect(message.length).toBeLessThan(150);
    expect(message.isWellFormed()).toBe(true);
  });

  test("a schema that the framework would validate itself is rejected at the start", () => {
    expect(() =>
      installValidation([{ method: "GET", path: "/", hooks: { query: { type: "object" } } }]),
    ).toThrow("GET / has a schema that is not zod's.");
  });

  test("a schema that is used for two parts is rejected at the start", () => {
    const schema = z.object({});
    expect(() =>
      installValidation([{ method: "GET", path: "/", hooks: { query: schema, params: schema } }]),
    ).toThrow("one schema for two parts");
  });
});
