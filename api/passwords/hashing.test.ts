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
