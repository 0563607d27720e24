import { passageText } from "../shared/bytes.ts";
/**
 * Checks the passwords people type. Argon2id is costly on purpose, so few run at once, away from the
 * event loop, and tries are limited for each link and for each link and address.
 */
import { createFixedWindow } from "../shared/fixed-window.ts";
import type { CachedLink } from "./cache/record.ts";

/** Verifications at a time: each takes 19 MiB and a core for some tens of milliseconds. */
const CONCURRENT_MAX = 2;
/** Waiting verifications beyond which a try is turned away. */
const WAITING_MAX = 32;

const TRIES = { perAddress: 10, perLink: 100, seconds: 60, keysMax: 50_000 };

/** The most bytes of a posted form: a password of 128 characters in its longest encoding, and its name. */
export const FORM_BYTES_MAX = 2_048;

type PasswordResult = "right" | "wrong" | "limited";

export type PasswordCheck = (
  link: CachedLink,
  address: string,
  password: string,
) => Promise<PasswordResult>;

export function createPasswordCheck(): PasswordCheck {
  const { seconds, keysMax } = TRIES;
  const byAddress = createFixedWindow({ allowed: TRIES.perAddress, seconds, keysMax });
  const byLink = createFixedWindow({ allowed: TRIES.perLink, seconds, keysMax });
  const waiting: (() => void)[] = [];
  let running = 0;

  return async (link, address, password) => {
    const ids = passageText(link.ids);
    const key = `${ids} ${address}`;
    if (byAddress.exhausted(key) || byLink.exhausted(ids)) return "limited";
    if (running >= CONCURRENT_MAX && waiting.length >= WAITING_MAX) return "limited";
    byAddress.spend(key);
    byLink.spend(ids);
    if (running >= CONCURRENT_MAX) await new Promise<void>((resolve) => waiting.push(resolve));
    running++;
    try {
      return (await Bun.password.verify(password, link.password_hash ?? "")) ? "right" : "wrong";
    } finally {
      running--;
      waiting.shift()?.();
    }
  };
}

/** The password in a posted form; undefined when the form is not one. */
export function readPassword(contentType: string, body: string): string | undefined {
  const type = contentType.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/x-www-form-urlencoded") return undefined;
  return new URLSearchParams(body).get("password") ?? undefined;
}
