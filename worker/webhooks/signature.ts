/** Signatures of Standard Webhooks (https://www.standardwebhooks.com). */
import { createHmac } from "node:crypto";

type SignedMessage = {
  /** The event's public id. */
  id: string;
  /** When the attempt is made, in Unix seconds. */
  timestamp: number;
  body: Buffer;
};

/** The headers of a delivery: one signature for each valid key. */
export function signatureHeaders(
  { id, timestamp, body }: SignedMessage,
  keys: readonly Buffer[],
): Record<string, string> {
  const signatures = keys.map((key) => {
    const hmac = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body);
    return `v1,${hmac.digest("base64")}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signatures.join(" "),
  };
}
