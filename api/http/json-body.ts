/** Reads a request's JSON body, bounded in size, time, depth and number of values. */
import { TimeSlice } from "../../shared/time-slice.ts";
import { ApiError } from "./errors.ts";

/** Maximum bytes of a body of `/v1`. */
const BODY_BYTES_MAX = 1024 * 1024;

/**
 * Maximum time for a body to arrive; the server's idle timeout ends a silent connection earlier.
 */
const BODY_MS_MAX = 30_000;

/**
 * A body with more bytes waits for a turn of its own: to parse and validate it may take tens of
 * milliseconds, and of several that arrive at once this would add up.
 */
const LARGE_BODY_BYTES = 16 * 1024;

/**
 * Reads and parses the body. Throws `unsupported_media_type` when it is not declared as JSON in
 * UTF-8, and `payload_too_large` beyond `bytesMax`. Throws `invalid_request` when it
 * arrives too slowly, is not JSON, is nested too deeply or has too many values. Of members with the
 * same name the last one counts, as in `JSON.parse`. `__proto__` is an ordinary member, which no
 * schema contains.
 */
export async function readJsonBody(request: Request, bytesMax = BODY_BYTES_MAX): Promise<unknown> {
  if (!isJson(request.headers.get("content-type"))) {
    throw new ApiError(
      "unsupported_media_type",
      "Send the body as Content-Type: application/json.",
    );
  }
  const bytes = await readBody(request, bytesMax);
  if (bytes.length > LARGE_BODY_BYTES) await new TimeSlice().next();
  const problem = jsonShapeProblem(bytes);
  if (problem !== undefined) throw new ApiError("invalid_request", problem);
  const { value, hasSurrogates } = parse(bytes);
  if (hasSurrogates && !isWellFormed(value))
    throw new ApiError("invalid_request", "The body holds half of a surrogate pair.");
  return value;
}

function parse(bytes: Uint8Array): { value: unknown; hasSurrogates: boolean } {
  try {
    // A body that is not UTF-8 is rejected, not repaired: the API stores exactly what was sent.
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    // UTF-8 has no surrogates: only an escape stands for one.
    return { value: JSON.parse(text), hasSurrogates: /\\ud/i.test(text) };
  } catch (cause) {
    throw new ApiError("invalid_request", "The body is not valid JSON.", { cause });
  }
}

/** Whether all texts and names could be stored as sent: UTF-8 cannot encode half of a pair. */
const isWellFormed = (value: unknown): boolean =>
  typeof value === "string"
    ? value.isWellFormed()
    : Object.entries(value ?? {}).every(
        ([name, member]) => name.isWellFormed() && isWellFormed(member),
      );

function isJson(contentType: string | null): boolean {
  const [type, ...parameters] = (contentType ?? "").toLowerCase().split(";");
  const charset = parameters
    .map((parameter) => parameter.trim())
    .find((p) => p.startsWith("charset="));
  return (
    type?.trim() === "application/json" &&
    (charset === undefined || /^charset="?utf-?8"?$/.test(charset))
  );
}

/** The parser of routes whose bodies the framework must not read: it would read any size. */
export const leaveUnread = (): object => UNREAD_BODY;

const UNREAD_BODY = Object.freeze({});

/**
 * Reads a body. Throws `payload_too_large` beyond `bytesMax`, and `invalid_request` when it arrives
 * too slowly.
 */
export async function readBody(request: Request, bytesMax: number): Promise<Uint8Array> {
  const tooLarge = new ApiError(
    "payload_too_large",
    `The body may have ${bytesMax} bytes at most.`,
  );
  if (Number(request.headers.get("content-length") ?? 0) > bytesMax) throw tooLarge;
  const chunks: Uint8Array[] = [];
  let size = 0;
  const deadline = performance.now() + BODY_MS_MAX;
  for await (const chunk of request.body ?? []) {
    size += chunk.length;
    if (size > bytesMax) throw tooLarge;
    if (performance.now() > deadline) {
      const seconds = BODY_MS_MAX / 1_000;
      throw new ApiError(
        "invalid_request",
        `The body took more than ${seconds} seconds to arrive.`,
      );
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/*
 * Before a body is parsed, the depth and the number of values are checked on its bytes: these
 * determine the cost of parsing, validating and comparing, and a small body can have a lot of both.
 */

/**
 * Maximum levels of arrays and objects in a body. The API's deepest body has 4 (`links`, a link,
 * its `tags`). The bound makes recursion over a value safe.
 */
export const JSON_DEPTH_MAX = 32;

/**
 * Maximum values and member names of a body together. The largest useful body, 100 links with every
 * field and 20 tags each, has about 5,000.
 */
export const JSON_TOKENS_MAX = 20_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Returns a sentence that explains why a body is rejected, or undefined when it may be parsed.
 * Takes one pass. Text that is not JSON may pass, because the parser rejects it. A body that passes
 * is within {@link JSON_DEPTH_MAX} and {@link JSON_TOKENS_MAX}.
 */
export function jsonShapeProblem(bytes: Uint8Array): string | undefined {
  let depth = 0;
  let tokens = 0;
  let inLiteral = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    switch (byte) {
      case QUOTE:
        tokens++;
        inLiteral = false;
        i = endOfString(bytes, i + 1);
        break;
      case 0x5b: // [
      case 0x7b: // {
        tokens++;
        inLiteral = false;
        depth++;
        if (depth > JSON_DEPTH_MAX) {
          return `The body is nested too deeply: ${JSON_DEPTH_MAX} levels at most.`;
        }
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
        inLiteral = false;
        break;
      case 0x2c: // ,
      case 0x3a: // :
      case 0x20:
      case 0x09:
      case 0x0a:
      case 0x0d:
        inLiteral = false;
        break;
      default:
        // A number, true, false or null counts once, whatever its length.
        if (!inLiteral) tokens++;
        inLiteral = true;
    }
    if (tokens > JSON_TOKENS_MAX) {
      return `The body holds too many values: ${JSON_TOKENS_MAX} values and names at most.`;
    }
  }
  return undefined;
}

/** The index of a string's closing quote, or of the text's end. */
function endOfString(bytes: Uint8Array, start: number): number {
  let i = start;
  while (i < bytes.length && bytes[i] !== QUOTE) i += bytes[i] === BACKSLASH ? 2 : 1;
  return i;
}
