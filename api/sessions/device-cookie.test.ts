import { describe, expect, test } from "bun:test";

import { DeviceCookies } from "./attempts.ts";
import type { Credentials } from "./sql.ts";

const cookies = new DeviceCookies("a secret of at least 32 characters", true);
const none = new Headers();

const USER: Credentials = { id: "00000000-0000-0000-0000-000000000001", password_hash: "one" };

const sendBack = (setCookie: string): Headers =>
  new Headers({ cookie: `other=1; ${setCookie.split(";")[0]}; more=2` });

describe("a device cookie", () => {
  test("recognizes the browser, only for the user and the password it was issued to", () => {
    const headers = sendBack(cookies.issue(none, USER));
    const id = cookies.find(headers, USER);
    expect(id).toBeString();
    expect(cookies.find(headers, { ...USER, id: USER.id.replace("1", "2") })).toBeUndefined();
    expect(cookies.find(headers, { ...USER, password_hash: "another" })).toBeUndefined();
    expect(cookies.find(none, USER)).toBeUndefined();
    expect(cookies.find(sendBack(cookies.issue(headers, USER)), USER)).toBe(id);
  });

  test("is rejected when another secret signed it, or when it was changed", () => {
    const foreign = new DeviceCookies("another secret of 32 characters!", true);
    const headers = sendBack(foreign.issue(none, USER));
    expect(cookies.find(headers, USER)).toBeUndefined();
    const own = cookies.issue(none, USER);
    const longer = own.replace(/\.(\d{10})\./, ".9999999999.");
    expect(longer).not.toBe(own);
    expect(cookies.find(sendBack(longer), USER)).toBeUndefined();
  });

  test("is hidden from scripts, other sites and plain http", () => {
    const cookie = cookies.issue(none, USER);
    for (const rule of ["HttpOnly", "SameSite=Strict", "Path=/auth", "Secure"]) {
      expect(cookie.split("; ")).toContain(rule);
    }
    const plain = new DeviceCookies("a secret of at least 32 characters", false);
    expect(plain.issue(none, USER)).not.toContain("Secure");
  });
});
