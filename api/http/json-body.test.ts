/** Goal: to read a body takes others no more of a turn of the event loop, however many arrive. */
import { describe, expect, spyOn, test } from "bun:test";

import fc from "fast-check";

import { casesOf } from "../../test/harness/property-runs.ts";
import { JSON_DEPTH_MAX, JSON_TOKENS_MAX, jsonShapeProblem, readJsonBody } from "./json-body.ts";

const postText = (body: string): Request =>
  new Request("http://api.test/", {
    method: "POST",
    body,
    headers: { "content-type": "application/json" },
  });

const post = (value: unknown): Request => postText(JSON.stringify(value));

const LARGE = { text: "a".repeat(20_000) };

test("large bodies that arrive at once are parsed in turns of their own, a small one at once", async () => {
  /** The bodies that were parsed in each turn. */
  const turns: unknown[][] = [[]];
  const parse = JSON.parse;
  using _ = spyOn(JSON, "parse").mockImplementation((text: string) => {
    const value: unknown = parse(text);
    turns.at(-1)?.push(value);
    return value;
  });
  const reading = Promise.all(
    [...Array.from({ length: 4 }, () => post(LARGE)), post(1)].map((request) =>
      readJsonBody(request),
    ),
  );
  const counting = { isOver: false };
  const count = (): void => {
    turns.push([]);
    if (!counting.isOver) setImmediate(count);
  };
  setImmediate(count);
  expect(await reading).toEqual([LARGE, LARGE, LARGE, LARGE, 1]);
  counting.isOver = true;
  const parsed = turns.filter((turn) => turn.length > 0);
  expect(parsed.flat()).toHaveLength(5);
  expect(parsed.filter((turn) => turn.includes(1))).toHaveLength(1);
  for (const turn of parsed)
    expect(turn.filter((value) => value !== 1).length).toBeLessThanOrEqual(1);
});

const checkShape = (text: string) => jsonShapeProblem(new TextEncoder().encode(text));

/** Measures depth and tokens by recursion over the parsed value. */
function measureShape(value: unknown): { depth: number; tokens: number } {
  if (typeof value !== "object" || value === null) return { depth: 0, tokens: 1 };
  const names = Array.isArray(value) ? 0 : Object.keys(value).length;
  const parts = Object.values(value).map(measureShape);
  return {
    depth: 1 + Math.max(0, ...parts.map(({ depth }) => depth)),
    tokens: 1 + names + parts.reduce((sum, { tokens }) => sum + tokens, 0),
  };
}

/** Strings that look like structure. */
const awkward = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: fc.constantFrom("[", "]", "{", "}", '"', "\\", ",", ":", "u", "d", "8", " ") }),
);

const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: "medium" },
    awkward,
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("any")),
    fc.dictionary(awkward, tie("any")),
  ),
})).any;

const write = (of: unknown, indent: number): string => JSON.stringify(of, undefined, indent) ?? "";

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

const wide = (length: number): string => JSON.stringify(Array(length).fill(0));

describe("the shape of a body", () => {
  test("is measured as by recursion over its value, whatever its strings contain", () => {
    fc.assert(
      fc.property(
        value,
        fc.nat(60),
        fc.nat(3),
        fc.nat(JSON_TOKENS_MAX + 10),
        (inner, levels, indent, more) => {
          let whole: unknown = [inner, Array(more % 20 === 0 ? more : 0).fill(0)];
          for (let i = 0; i < levels; i++) whole = i % 2 === 0 ? [whole] : { "}]": whole };
          const { depth, tokens } = measureShape(JSON.parse(write(whole, 0)));
          const accepted = depth <= JSON_DEPTH_MAX && tokens <= JSON_TOKENS_MAX;
          expect(checkShape(write(whole, indent)) === undefined).toBe(accepted);
        },
      ),
      { numRuns: 300 },
    );
  });

  test("has exactly the stated bounds", () => {
    expect(checkShape(nested(JSON_DEPTH_MAX))).toBeUndefined();
    expect(checkShape(nested(JSON_DEPTH_MAX + 1))).toMatch(/nested too deeply: 32 levels/);
    expect(checkShape(wide(JSON_TOKENS_MAX - 1))).toBeUndefined();
    expect(checkShape(wide(JSON_TOKENS_MAX))).toMatch(/too many values: 20000/);
  });

  test("has well-formed strings, escaped or not, exactly when JavaScript says so", async () => {
    const unit = fc
      .oneof(
        fc.constantFrom(0xd7ff, 0xd800, 0xd83d, 0xdbff, 0xdc00, 0xde00, 0xdfff, 0xe000, 0x41, 0x5c),
        fc.nat(0xffff),
      )
      .map((code) => `\\u${code.toString(16).padStart(4, "0")}`);
    const piece = fc.oneof(
      unit,
      unit.map((text) => text.toUpperCase().replace("\\U", "\\u")),
      fc.constantFrom("a", "\\\\", '\\"', "\\n", "é", "🎈", "u", "\\/"),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 8 }), fc.boolean(), async (pieces, isName) => {
        const text = `"${pieces.join("")}"`;
        const body = isName ? `[{${text}:1}]` : `[${text}]`;
        const reading = readJsonBody(postText(body));
        if ((JSON.parse(text) as string).isWellFormed())
          expect(await reading).toEqual(JSON.parse(body));
        else expect(reading).rejects.toThrow("half of a surrogate pair");
      }),
      { numRuns: casesOf(2_000) },
    );
  });

  test("is also measured of bytes that are not JSON, in linear time", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        let looks = 0;
        const counted = new Proxy(bytes, {
          get(of, name) {
            if (typeof name === "string" && /^\d+$/.test(name)) looks++;
            return Reflect.get(of, name, of);
          },
        });
        jsonShapeProblem(counted);
        // Each byte, and in strings a second time for a backslash: independent of the length before.
        expect(looks).toBeLessThanOrEqual(bytes.length * 3);
      }),
    );
  });
});

test.each([
  ["application/json", true],
  ["application/json; charset=UTF-8", true],
  // A label of the same encoding (the Encoding standard), which clients write as well.
  ["application/json;charset=utf8", true],
  ["application/json; charset=iso-8859-1", false],
  ["text/plain", false],
])("a body of %p is read: %p", async (type, isRead) => {
  const headers = { "content-type": type };
  const request = new Request("http://api.test/", { method: "POST", body: "1", headers });
  const read = await readJsonBody(request).catch((error: unknown) => error);
  expect(read).toEqual(isRead ? 1 : expect.objectContaining({ status: 415 }));
});
