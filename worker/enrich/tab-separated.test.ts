import { expect, test } from "bun:test";

import fc from "fast-check";

import { TextWriter } from "./tab-separated.ts";

test("a text is what was written, in order, however small the buffer was at first", () => {
  const anyPart = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.string({ unit: "binary-ascii", maxLength: 40 }),
    fc.maxSafeNat(),
  );
  fc.assert(
    fc.property(fc.array(anyPart), fc.nat({ max: 100 }), (parts, capacity) => {
      const writer = new TextWriter(capacity);
      for (const part of parts) {
        if (typeof part === "number") writer.integer(part);
        else if (typeof part === "string") writer.ascii(part);
        else writer.bytes(part);
      }
      const expected = parts.map((part) =>
        Buffer.from(typeof part === "number" ? String(part) : part),
      );
      expect(writer.finish().equals(Buffer.concat(expected))).toBe(true);
    }),
  );
});
