/** Reads a request's JSON body, bounded in size and time. */
import { beginTurn } from "../../shared/turns.ts";
import { ApiError } from "./errors.ts";
import { jsonShapeProblem } from "./json-shape.ts";

/** Maximum bytes of a body. */
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
 * UTF-8, and `payload_too_large` beyond {@link BODY_BYTES_MAX}. Throws `invalid_request` when it
 * arrives too slowly, is not JSON, is nested too deeply or has too many values. Of members with the
 * same name the last one counts, as in `JSON.parse`. `__proto__` is an ordinary member, which no
 * schema contains.
 */
export async function readJsonBody(request: Request): Promise<unknown> {
  if (!isJson(request.headers.get("content-type"))) {
    throw new ApiError(
      "unsupported_media_type",
      "Send the body as Content-Type: application/json.",
    );
  }
  const bytes = await readBody(request, BODY_BYTES_MAX);
  if (bytes.length > LARGE_BODY_BYTES) await beginTurn().next();
  const problem = jsonShapeProblem(bytes);
  if (problem !== undefined) throw new ApiError("invalid_request", problem);
  try {
    // A body that is not UTF-8 is rejected, not repaired: the API stores exactly what was sent.
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new ApiError("invalid_request", "The body is not valid JSON.", { cause });
  }
}

function isJson(contentType: string | null): boolean {
  const [type, ...parameters] = (contentType ?? "").toLowerCase().split(";");
  const charset = parameters
    .map((parameter) => parameter.trim())
    .find((p) => p.startsWith("charset="));
  return (
    type?.trim() === "application/json" &&
    (charset === undefined || /^charset="?utf-8"?$/.test(charset))
  );
}

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
