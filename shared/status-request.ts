/** Requests the status of all processes of the installation over NATS. */
import { ErrorCode, type NatsConnection, NatsError } from "nats";

import { type ProcessStatus, processStatus, STATUS_SUBJECT } from "./contracts/process-status.ts";

/** Maximum responses read: more than any installation has processes. */
const RESPONSES_MAX = 5_000;

/**
 * Collects the responses of processes within `waitMs`, by kind, host and number. Throws when this
 * user may not send the request.
 */
export async function requestStatuses(
  nats: NatsConnection,
  waitMs: number,
): Promise<ProcessStatus[]> {
  const found: ProcessStatus[] = [];
  try {
    const options = { maxWait: waitMs, maxMessages: RESPONSES_MAX };
    for await (const { data } of await nats.requestMany(STATUS_SUBJECT, "", options)) {
      const status = decodeStatus(data);
      if (status !== undefined) found.push(status);
    }
  } catch (error) {
    if (!(error instanceof NatsError)) throw error;
    if (error.isPermissionError())
      throw new Error(
        "This user may not request the status: set NATS_URL as in api.env, or as the operator.",
        {
          cause: error,
        },
      );
    if (error.code !== ErrorCode.NoResponders.toString()) throw error;
  }
  return found.toSorted(compare);
}

/** Undefined for a response that cannot be decoded, such as one of a future version. */
function decodeStatus(data: Uint8Array): ProcessStatus | undefined {
  try {
    return processStatus.safeParse(JSON.parse(new TextDecoder().decode(data))).data;
  } catch {
    return undefined;
  }
}

const compare = (a: ProcessStatus, b: ProcessStatus): number =>
  a.process.localeCompare(b.process) ||
  a.host.localeCompare(b.host) ||
  (a.instance ?? 0) - (b.instance ?? 0) ||
  a.pid - b.pid;
