/** Reads a request's JSON body: after the caller is known, within a bound, with exact errors. */
import { ApiError } from "./errors.ts";

/** The most bytes a body may have. */
const BODY_BYTES_MAX = 1024 * 1024;

/**
 * Reads and parses the body. Throws `unsupported_media_type` when it is not declared as JSON in
 * UTF-8, `payload_too_large` beyond {@link BODY_BYTES_MAX}, `invalid_request` when it is not JSON.
 */
export async function readJsonBody(request: Request): Promise<unknown> {
  if (!isJson(request.headers.get("content-type"))) {
    throw new ApiError(
      "unsupported_media_type",
      "Send the body as Content-Type: application/json.",
    );
  }
  const bytes = await readBounded(request);
  try {
    // A body that is not UTF-8 is refused rather than repaired: what is stored is what was sent.
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

async function readBounded(request: Request): Promise<Uint8Array> {
  const tooLarge = new ApiError(
    "payload_too_large",
    `The body may have ${BODY_BYTES_MAX} bytes at most.`,
  );
  if (Number(request.headers.get("content-length") ?? 0) > BODY_BYTES_MAX) throw tooLarge;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.length;
    if (size > BODY_BYTES_MAX) throw tooLarge;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
