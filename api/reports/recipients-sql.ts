/** SQL statements on the recipients of reports. */
import type { Uuid } from "../../shared/ids.ts";
import type { Sql, Transaction } from "../postgres.ts";

/** Members of an account whose confirmed addresses are in a list, with these addresses. */
export const findMembersByAddress = (
  sql: Sql,
  accountId: Uuid,
  emails: readonly string[],
): Promise<{ user_id: Uuid; email: string }[]> =>
  sql<{ user_id: Uuid; email: string }[]>`
    select member.user_id, users.email as email
      from members member join users on users.id = member.user_id
     where member.account_id = ${accountId} and users.email_verified
       and users.email = any (${[...emails]}::text[])`;

/** Makes users the recipients of a report, in place of others. */
export async function replaceRecipients(
  transaction: Transaction,
  { id, account_id }: { id: Uuid; account_id: Uuid },
  userIds: readonly Uuid[],
): Promise<void> {
  await transaction`
    delete from report_recipients where report_id = ${id} and not user_id = any (${[...userIds]}::uuid[])`;
  await transaction`
    insert into report_recipients (report_id, account_id, user_id)
    select ${id}, member.account_id, member.user_id from members member
     where member.account_id = ${account_id} and member.user_id = any (${[...userIds]}::uuid[])
    on conflict do nothing`;
}
