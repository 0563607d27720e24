import { expect, test } from "bun:test";

import fc from "fast-check";

import { decrypt, encrypt } from "./idempotency.ts";

test("a ciphertext decrypts only with its secret, and never when it was changed", () => {
  fc.assert(
    fc.property(fc.string(), fc.string({ unit: "grapheme" }), fc.nat(), (secret, text, at) => {
      const ciphertext = encrypt(secret, text);
      expect(decrypt(secret, ciphertext)).toBe(text);
      expect(decrypt(`${secret}x`, ciphertext)).toBeUndefined();
      const changed = Buffer.from(ciphertext);
      const i = at % changed.length;
      changed[i] = (changed[i] ?? 0) ^ 1;
      expect(decrypt(secret, changed)).toBeUndefined();
    }),
  );
});
