/** Unsubscribes recipients of reports by the tokens in their mails. */
import type { Sql } from "../../postgres.ts";
import { deleteRecipient } from "./sql.ts";
import type { UnsubscribeTokens } from "./token.ts";

export type Unsubscriber = ReturnType<typeof createUnsubscriber>;

/** Without tokens, where no mails are sent, every token is invalid. */
export const createUnsubscriber = ({
  sql,
  tokens,
}: {
  sql: Sql;
  tokens: UnsubscribeTokens | undefined;
}) => ({
  isValid: (token: string): boolean => tokens?.read(token) !== undefined,

  /** Unsubscribes whom a token names, as often as asked; returns false when it is invalid. */
  async unsubscribe(token: string): Promise<boolean> {
    const recipient = tokens?.read(token);
    if (recipient === undefined) return false;
    await deleteRecipient(sql, recipient);
    return true;
  },
});
