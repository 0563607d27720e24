/**
 * What the ledger of events says about members. They belong to an account, not to a mode: their
 * events are among those of live mode.
 */
import type { Uuid } from "../../shared/ids.ts";
import { type NewEvent, recordEvents, toJson } from "../events/record.ts";
import type { Actor } from "../http/principal.ts";
import type { Transaction } from "../postgres.ts";
import { toMemberResponse } from "./model.ts";
import type { MemberRow } from "./sql.ts";

type MemberEventType =
  "member.joined" | "member.updated" | "member.removed" | "member.reset_link_created";

/** Records what happened to a member; with the previous role if it has changed. */
export async function recordMemberEvent(
  transaction: Transaction,
  { accountId, actor }: { accountId: Uuid; actor: Actor },
  type: MemberEventType,
  member: MemberRow,
  before?: MemberRow["role"],
): Promise<void> {
  const changes = before === undefined ? {} : { role: { before, after: member.role } };
  const event: NewEvent = {
    type,
    objectId: member.user_id,
    data: toJson({
      member: toMemberResponse(member),
      ...(type === "member.updated" ? { changes } : {}),
    }),
  };
  await recordEvents(transaction, { accountId, mode: "live", actor }, [event]);
}
