/** Goal: what is typed or pasted to sign in works however a keyboard writes it. */
import { expect, test } from "bun:test";

import { sharePassword } from "./share-schemas.ts";
import { appCode, email, newPassword, signInCode } from "./users.ts";

test("an address and a password are without what keyboards and messages add at their ends", () => {
  expect(email.parse(" ann@example.com\u200b\u00a0")).toBe("ann@example.com");
  for (const schema of [newPassword, sharePassword]) {
    expect(schema.parse("secret words\u00a0")).toBe("secret words");
    expect(schema.safeParse("secret      ").success).toBe(false);
  }
});

test.each([
  ["012345", "012345"],
  [" 012 345\n", "012345"],
  ["012\u00a0345", "012345"],
  ["\uff10\uff11\uff12\u3000\uff13\uff14\uff15", "012345"],
  ["\u0660\u0661\u0662\u0667\u0668\u0669", "012789"],
  ["\u06f0\u06f1\u06f2\u06f7\u06f8\u06f9", "012789"],
])("the code %p of an app is %s", (typed, code) => {
  expect(appCode.parse(typed)).toBe(code);
  expect(signInCode.parse(typed)).toBe(code);
});

test.each(["aB1cD-2eF3g", "aB1cD\u20132eF3g", "aB1cD\u20112eF3g", "aB1cD 2eF3g", "aB1cD - 2eF3g "])(
  "the recovery code %p is that with a dash",
  (typed) => {
    expect(signInCode.parse(typed)).toBe("aB1cD-2eF3g");
    expect(appCode.safeParse(typed).success).toBe(false);
  },
);

test.each(["", "12345", "1234567", "12345a", "aB1cD_2eF3g", "aB1c-D2eF3g", "0".repeat(41)])(
  "%p is no code",
  (typed) => {
    expect(signInCode.safeParse(typed).success).toBe(false);
  },
);
