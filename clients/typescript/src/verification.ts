/** Verifies what a receiver of webhooks gets, as Standard Webhooks describes. */

/** How old or how early a timestamp may be, in seconds. */
const TOLERANCE_SECONDS = 300;

const SECRET_PREFIX = "whsec_";

const SCHEME = "v1";

/** Headers of a request: of `fetch`, or of Node's `http`. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** An event. The list of types grows: ignore those that you do not know. */
export type WebhookEvent = {
  /** The same for each delivery of the event: what has been seen before is a duplicate. */
  id: string;
  type: string;
  created_at: string;
  mode: "live" | "test";
  data: unknown;
  /** Who caused it. */
  actor: { type: string; id?: string };
};

/** Options of {@link verifyWebhook}. */
export type VerifyOptions = {
  /** How far the timestamp may be from now; 300 by default. */
  toleranceSeconds?: number;
};

/**
 * A request does not come from Shorthop, or not now. Respond 400 to it.
 *
 * @example
 * if (error instanceof WebhookVerificationError) return new Response(null, { status: 400 });
 */
export class WebhookVerificationError extends Error {
  override name = "WebhookVerificationError";
}

/**
 * Verifies a delivery and returns its event. Pass the body as it was received, before any parser.
 *
 * @throws WebhookVerificationError For a missing, old or wrong signature.
 * @example
 * const event = await verifyWebhook(await request.text(), request.headers, secret);
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string,
  { toleranceSeconds = TOLERANCE_SECONDS }: VerifyOptions = {},
): Promise<WebhookEvent> {
  const id = readHeader(headers, "webhook-id");
  const timestamp = readHeader(headers, "webhook-timestamp");
  const signatures = readHeader(headers, "webhook-signature").split(" ");
  const ageSeconds = Date.now() / 1_000 - Number(timestamp);
  if (!/^\d+$/.test(timestamp) || Math.abs(ageSeconds) > toleranceSeconds)
    throw new WebhookVerificationError("The timestamp is too far from now.");
  const key = await importKey(secret);
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  for (const signature of signatures) {
    const [scheme, value] = signature.split(",");
    const bytes = decodeBase64(value ?? "");
    // Compares in constant time.
    if (scheme === SCHEME && bytes !== undefined && (await verify(key, bytes, signed)))
      // Signed by the API, which writes events in this form.
      return JSON.parse(text) as WebhookEvent;
  }
  throw new WebhookVerificationError("No signature is right.");
}

const verify = (
  key: CryptoKey,
  signature: Uint8Array<ArrayBuffer>,
  signed: Uint8Array<ArrayBuffer>,
): Promise<boolean> => crypto.subtle.verify("HMAC", key, signature, signed);

function readHeader(headers: WebhookHeaders, name: string): string {
  const value =
    typeof headers["get"] === "function" ? headers["get"](name) : readRecord(headers, name);
  if (typeof value !== "string" || value === "")
    throw new WebhookVerificationError(`The header ${name} is missing.`);
  return value;
}

const readRecord = (headers: WebhookHeaders, name: string): unknown =>
  Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];

async function importKey(secret: string): Promise<CryptoKey> {
  const bytes = decodeBase64(secret.replace(SECRET_PREFIX, ""));
  if (bytes === undefined || bytes.length === 0)
    throw new TypeError("The secret must be the one that the webhook was created with.");
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, [
    "verify",
  ]);
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
