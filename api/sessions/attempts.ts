/**
 * Bounds on tries at passwords, the same across all API processes: by the address they come from and by
 * the e-mail address they are for. Both are kept as keyed hashes alone.
 */
import { createHmac } from "node:crypto";

import { rateLimited } from "../limits/windows.ts";
import type { Sql } from "../postgres.ts";

const WINDOWS = {
  address: { allowed: 30, seconds: 900 },
  email: { allowed: 10, seconds: 900 },
} as const;

export type Attempts = ReturnType<typeof createAttempts>;

export function createAttempts(sql: Sql, secret: string) {
  const keyOf = (kind: string, of: string): Buffer =>
    createHmac("sha256", secret).update(`${kind}\n${of}`).digest();

  async function spend(kind: keyof typeof WINDOWS, of: string): Promise<void> {
    const { allowed, seconds } = WINDOWS[kind];
    const [row] = await sql<[{ spent: number; resets_ms: number; now_ms: number }]>`
      insert into sign_in_windows as w (key, opened_at, spent)
      values (${keyOf(kind, of)}, clock_timestamp(), 1)
      on conflict (key) do update set
        opened_at = case when w.opened_at > clock_timestamp() - make_interval(secs => ${seconds})
                         then w.opened_at else clock_timestamp() end,
        spent = case when w.opened_at > clock_timestamp() - make_interval(secs => ${seconds})
                     then least(w.spent, ${allowed}) + 1 else 1 end
      returning spent, extract(epoch from opened_at)::float8 * 1000 + ${seconds * 1_000} as resets_ms,
                extract(epoch from clock_timestamp())::float8 * 1000 as now_ms`;
    if (row.spent <= allowed) return;
    const window = { name: kind, allowed, seconds, spent: allowed, resetsAt: row.resets_ms };
    throw rateLimited(window, row.now_ms);
  }

  return {
    /** Spends a try; throws `rate_limited` when there were too many. */
    async spend(address: string, email: string): Promise<void> {
      await spend("address", address);
      await spend("email", email.toLowerCase());
    },
    /** Who knows the password has not been guessing at it: the try is given back. */
    async forgive(address: string, email: string): Promise<void> {
      await sql`delete from sign_in_windows where key = ${keyOf("email", email.toLowerCase())}`;
      await sql`
        update sign_in_windows set spent = greatest(spent - 1, 0) where key = ${keyOf("address", address)}`;
    },
  };
}

/** Removes windows that have long been closed. */
export async function forgetAttempts(sql: Sql): Promise<void> {
  await sql`delete from sign_in_windows where opened_at < clock_timestamp() - interval '1 hour'`;
}
