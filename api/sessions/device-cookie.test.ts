import { describe, expect, test } from "bun:test";

import { createDeviceCookies } from "./device-cookie.ts";

const cookies = createDeviceCookies("a secret of at least 32 characters", true);
const none = new Headers();

const sendBack = (setCookie: string): Headers =>
  new Headers({ cookie: `other=1; ${setCookie.split(";")[0]}; more=2` });

describe("a device cookie", () => {
  test("recognizes the browser, only for the user it was issued to", () => {
    const headers = sendBack(cookies.issue(none, "Person@example.com"));
    const id = cookies.find(headers, "person@example.com");
    expect(id).toBeString();
    expect(cookies.find(headers, "another@example.com")).toBeUndefined();
    expect(cookies.find(none, "person@example.com")).toBeUndefined();
    expect(
      cookies.find(sendBack(cookies.issue(headers, "person@example.com")), "person@example.com"),
    ).toBe(id);
  });

  test("is rejected when another secret signed it, or when it was changed", () => {
    const foreign = createDeviceCookies("another secret of 32 characters!", true);
    const headers = sendBack(foreign.issue(none, "person@example.com"));
    expect(cookies.find(headers, "person@example.com")).toBeUndefined();
    const own = cookies.issue(none, "person@example.com");
    const longer = own.replace(/\.(\d{10})\./, ".9999999999.");
    expect(longer).not.toBe(own);
    expect(cookies.find(sendBack(longer), "person@example.com")).toBeUndefined();
  });

  test("is hidden from scripts, other sites and plain http", () => {
    const cookie = cookies.issue(none, "person@example.com");
    for (const rule of ["HttpOnly", "SameSite=Strict", "Path=/auth", "Secure"]) {
      expect(cookie.split("; ")).toContain(rule);
    }
    const plain = createDeviceCookies("a secret of at least 32 characters", false);
    expect(plain.issue(none, "person@example.com")).not.toContain("Secure");
  });
});
