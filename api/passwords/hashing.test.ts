/** Goal: who knows a password gets in, on whichever device. */
import { expect, test } from "bun:test";

import { newUuid } from "../../shared/ids.ts";
import { PasswordHashing } from "./hashing.ts";

test("a password is the same however a device types its accents and blanks (RFC 8265)", async () => {
  const [composed, decomposed] = ["mật khẩu".normalize("NFC"), "mật\u00a0khẩu".normalize("NFD")];
  const passwords = new PasswordHashing();
  const account = newUuid();
  const ofLink = await passwords.hashForLink(account, decomposed);
  expect(await passwords.verifyForAccount(account, composed, ofLink)).toBe(true);
  const ofUser = await passwords.hashForUser(composed);
  expect(await passwords.verifyForUser(decomposed, ofUser)).toBe(true);
  expect(await passwords.verifyForUser("mat khau", ofUser)).toBe(false);
});

test.each(["secret words ", "\u00a0secret words", "secret words\r\n", "\u200bsecret words\ufeff"])(
  "a password is the same with what was copied beside it: %j",
  async (pasted) => {
    const passwords = new PasswordHashing();
    const account = newUuid();
    const ofLink = await passwords.hashForLink(account, "secret words");
    expect(await passwords.verifyForAccount(account, pasted, ofLink)).toBe(true);
    const ofUser = await passwords.hashForUser(pasted);
    expect(await passwords.verifyForUser("secret words", ofUser)).toBe(true);
    expect(await passwords.verifyForUser("secretwords", ofUser)).toBe(false);
  },
);

test("a password of blanks alone is none of others", async () => {
  const passwords = new PasswordHashing();
  const ofUser = await passwords.hashForUser("  ");
  expect(await passwords.verifyForUser("  ", ofUser)).toBe(true);
  for (const other of ["", " "]) expect(await passwords.verifyForUser(other, ofUser)).toBe(false);
});
