/** How late webhooks get their events. */
import type { Sql } from "../postgres.ts";
import { selectLag } from "./lag-sql.ts";

/** Events are late when one has waited for so many seconds. */
const LAG_SECONDS_MAX = 60;

/** For how many seconds the event has waited that waits longest; 0 without any. */
export const readLag = (sql: Sql): Promise<number> => selectLag(sql);

/** Says that webhooks get events late; undefined while they do not. */
export async function lagWarning(sql: Sql): Promise<string | undefined> {
  const seconds = await readLag(sql).catch(() => 0);
  if (seconds <= LAG_SECONDS_MAX) return undefined;
  return `an event has waited for a webhook for ${Math.round(seconds)} s`;
}
