/** Replaces a part of a request. */
import type { Random } from "../harness/random.ts";
import type { Draft, HttpRequest } from "./requests.ts";

/** Adds a duplicate of one field with this value to the body; parsers use the last one. */
export function withField(
  request: HttpRequest,
  { random }: Draft,
  field: string,
  value: string,
): HttpRequest {
  const valid = request.body?.toString() ?? "{}";
  const inner = random.between(0, 4) === 0 ? `[${value}]` : value;
  const name = JSON.stringify(field);
  // JSON.parse takes the last of two members with the same name.
  const text = valid === "{}" ? `{${name}:${inner}}` : `${valid.slice(0, -1)},${name}:${inner}}`;
  return { ...request, body: Buffer.from(text) };
}

export function withQuery(request: HttpRequest, name: string, value: string): HttpRequest {
  request.query.push([name, value]);
  return request;
}

/** Replaces the path's last segment, or appends one. */
export function withParameter(request: HttpRequest, value: string): HttpRequest {
  return { ...request, path: request.path.replace(/[^/]*$/, value.replaceAll("$", "%24")) };
}

/** Replaces a header, regardless of its case. */
export function withHeader(request: HttpRequest, name: string, value: string): HttpRequest {
  const others = request.headers.filter(([one]) => one.toLowerCase() !== name.toLowerCase());
  return { ...request, headers: [...others, [name, value]] };
}

/**
 * Encodes text for a URL: percent-encoded, or as raw UTF-8 without bytes that end the request line.
 */
export function encodeForUrl(random: Random, text: string): string {
  const wellFormed = text.toWellFormed();
  return random.between(0, 1) === 0
    ? encodeURIComponent(wellFormed)
    : encodeForHeader(wellFormed).replaceAll(/[ #?]/g, "+");
}

/** Encodes text as raw UTF-8 for a header, without bytes that end a line. */
export const encodeForHeader = (text: string): string =>
  Buffer.from(text.replaceAll(/[\r\n\0]/g, "")).toString("latin1");
