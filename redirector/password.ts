/**
 * Checks the passwords people type. Argon2id is costly on purpose, so few run at once, away from the
 * event loop, and tries are limited for each link and for each link and address.
 */
import type { ActiveLink } from "../shared/contracts/link-record.ts";
import { createFixedWindow } from "../shared/fixed-window.ts";

/** Verifications at a time: each takes 19 MiB and a core for some tens of milliseconds. */
const CONCURRENT_MAX = 2;
/** Waiting verifications beyond which a try is turned away. */
const WAITING_MAX = 32;

const TRIES = { perAddress: 10, perLink: 100, seconds: 60, keysMax: 50_000 };

/** The most bytes of a posted form: a password of 128 characters in its longest encoding, and its name. */
const FORM_BYTES_MAX = 2_048;

type PasswordResult = "right" | "wrong" | "limited";

export type PasswordCheck = (
  link: ActiveLink,
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
    const key = `${link.link_id} ${address}`;
    if (byAddress.exhausted(key) || byLink.exhausted(link.link_id)) return "limited";
    if (running >= CONCURRENT_MAX && waiting.length >= WAITING_MAX) return "limited";
    byAddress.spend(key);
    byLink.spend(link.link_id);
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

/** The password in a posted form; undefined when the form is not one, or too long. */
export async function readPassword(request: Request): Promise<string | undefined> {
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/x-www-form-urlencoded") return undefined;
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of request.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > FORM_BYTES_MAX) return undefined;
  }
  return new URLSearchParams(text).get("password") ?? undefined;
}
