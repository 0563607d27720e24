/** Generators of hostile content: bodies, queries, paths and headers. */
import {
  createValidRequest,
  type Draft,
  encodeForHeader,
  encodeForUrl,
  type HttpRequest,
  withField,
  withHeader,
  withParameter,
  withQuery,
} from "./requests.ts";
import type { BodySchema } from "./routes.ts";
import { BAD_BYTES, createPumpedText, URL_PARTS, VALUES, words } from "./texts.ts";

/** Sizes around common limits of servers: of a head, of a body, of the call stack. */
const DEPTHS = [33, 200, 2_000, 10_000, 50_000, 200_000] as const;
const COUNTS = [101, 1_000, 5_000, 20_000, 60_000] as const;
const LENGTHS = [256, 2_100, 8_200, 60_000, 300_000, 1_100_000] as const;
/** Lengths that fit into a head of 16 KiB, and one that does not. */
const HEAD_LENGTHS = [100, 4_000, 15_000, 15_000, 40_000] as const;

/** Nested arrays or objects, as the body, in one of its fields, or in the query's names. */
function nested(draft: Draft): HttpRequest {
  const { random } = draft;
  const depth = random.pick(DEPTHS);
  const [open, shut] = random.pick<readonly [string, string]>([
    ["[", "]"],
    ["[", ""],
    ['{"a":', "}"],
    ['[{"a":', "}]"],
    ['{"__proto__":', "}"],
  ]);
  const value = `${open.repeat(depth)}1${shut.repeat(depth)}`;
  return withValue(draft, value, `a${"[b]".repeat(Math.min(depth, 5_000))}`);
}

const distinct = (i: number): string => `p${i}`;

/** Very many members, elements or parameters. */
function wide(draft: Draft): HttpRequest {
  const { random } = draft;
  const count = random.pick(COUNTS);
  const element = random.pick([
    "1",
    "{}",
    '"a"',
    "null",
    '{"url":"https://example.com/"}',
    '"link_0"',
  ]);
  const value = random.pick([
    () => `[${Array(count).fill(element).join()}]`,
    () => `{${Array.from({ length: count }, (_, i) => `"f${i}":${element}`).join()}}`,
    () => `{${Array(count).fill(`"url":"https://example.com/"`).join()}}`,
  ])();
  const request = withValue(draft, value, "wide");
  const names = random.pick([distinct, distinct, () => "a", () => draft.route.query[0] ?? "a"]);
  if (request.body === undefined || random.between(0, 4) === 0) {
    // About 2,000 parameters fit into a head of 16 KiB.
    const parameters = random.pick([300, 2_000, 2_000, 10_000]);
    for (let i = 0; i < parameters; i++) request.query.push([names(i), ""]);
  }
  return request;
}

/**
 * Long texts that make regular expressions backtrack, in a body's field, the query, the path or a
 * header.
 */
function long(draft: Draft): HttpRequest {
  const { random, route } = draft;
  const request = createValidRequest(draft);
  const field = pickField(draft);
  if (field !== undefined && random.between(0, 3) > 0) {
    const text = createPumpedText(random, field, random.pick(LENGTHS));
    return withField(request, draft, field, JSON.stringify(text));
  }
  const length = random.pick(HEAD_LENGTHS);
  const name = random.between(0, 1) === 0 ? "q" : (route.query[random.between(0, 9)] ?? "a");
  const text = createPumpedText(random, name, length);
  return random.pick([
    () => withQuery(request, name, encodeForUrl(random, text)),
    () => withQuery(request, name, encodeForUrl(random, text)),
    () => withQuery(request, encodeForUrl(random, text), ""),
    () => withParameter(request, encodeForUrl(random, text)),
    () => withHeader(request, random.pick(READ_HEADERS), encodeForHeader(text)),
  ])();
}

/**
 * Values that look valid, or are valid elsewhere: numbers, dates, names that JavaScript itself
 * uses.
 */
function odd(draft: Draft): HttpRequest {
  const { random, route } = draft;
  const request = createValidRequest(draft);
  const field = pickField(draft);
  const value = random.pick(VALUES);
  if (field !== undefined && random.between(0, 2) > 0) {
    return withField(request, draft, random.between(0, 9) === 0 ? "__proto__" : field, value);
  }
  const part =
    random.between(0, 3) === 0 ? encodeURIComponent(value.slice(0, 2_000)) : random.pick(URL_PARTS);
  const name = route.query[random.between(0, Math.max(0, route.query.length - 1))] ?? "q";
  if (route.path.includes(":") && random.between(0, 1) === 0) return withParameter(request, part);
  if (random.between(0, 3) === 0) withQuery(request, name, random.pick(URL_PARTS));
  return withQuery(request, name, part);
}

/** Invalid UTF-8, raw and percent-encoded, in bodies, queries, paths and headers. */
function misencoded(draft: Draft): HttpRequest {
  const { random } = draft;
  const request = createValidRequest(draft);
  const bytes = random.pick(BAD_BYTES);
  const raw = bytes.toString("latin1");
  const repeated = raw.repeat(Math.ceil(random.pick(HEAD_LENGTHS) / raw.length));
  const percent = bytes.toString("hex").replaceAll(/../g, "%$&");
  if (request.body !== undefined && random.between(0, 1) === 0) {
    const at = random.between(0, request.body.length);
    const body = Buffer.concat([request.body.subarray(0, at), bytes, request.body.subarray(at)]);
    const charset = random.pick([
      "",
      "; charset=utf-16",
      "; charset=utf-8; charset=x",
      "; charset=\xff",
    ]);
    return withHeader({ ...request, body }, "Content-Type", `application/json${charset}`);
  }
  return random.pick([
    () => withQuery(request, "q", repeated),
    () => withQuery(request, "q", percent.repeat(random.pick([1, 50, 1_500]))),
    () => withQuery(request, repeated, ""),
    () => withParameter(request, percent),
    () => withParameter(request, raw),
    () => withHeader(request, random.pick(READ_HEADERS), repeated),
  ])();
}

/** Bodies of another content type than the route accepts: forms, tables, archives. */
function foreign(draft: Draft): HttpRequest {
  const { random } = draft;
  const request = createValidRequest(draft);
  const lines = random.pick([1, 100, 10_000]);
  const [type, text] = random.pick<readonly [string, string]>([
    ["text/csv", "url,alias\n".concat('"https://example.com/","a\n'.repeat(lines))],
    ["text/csv", `${'"'.repeat(lines)}\n`],
    [
      "multipart/form-data; boundary=x",
      `${'--x\r\nContent-Disposition: form-data; name="query"\r\n\r\n1\r\n'.repeat(lines)}--x--`,
    ],
    ["multipart/form-data; boundary=x", `--x\r\n${"a: b\r\n".repeat(lines)}`],
    ["multipart/form-data; boundary=x", "--".repeat(lines)],
    ["application/x-www-form-urlencoded", "password=a&".repeat(lines)],
    ["application/x-www-form-urlencoded", `password=${"%".repeat(lines)}`],
    [
      "application/x-www-form-urlencoded",
      `password=${"%F0%9F%8E%88".repeat(Math.min(lines, 300))}`,
    ],
    ["application/json", `${" ".repeat(lines)}{}${"\n".repeat(lines)}`],
    ["application/json", `{}${"{}".repeat(lines)}`],
    ["application/json", ""],
    ["application/json", "\u0000".repeat(lines)],
    ["application/json; charset=utf-8", `\ufeff{"a":1}`],
    ["application/xml", `<!DOCTYPE a [${'<!ENTITY b "c">'.repeat(lines)}]><a>&b;</a>`],
    ["text/plain", "SELECT 1 FORMAT Null"],
  ]);
  return withHeader({ ...request, body: Buffer.from(text) }, "Content-Type", type);
}

export const CONTENTS = { nested, wide, long, odd, misencoded, headers, foreign } as const;

/**
 * Puts a JSON value into the body, as a whole or in a field; without a body, a name into the query.
 */
function withValue(draft: Draft, value: string, name: string): HttpRequest {
  const request = createValidRequest(draft);
  const field = pickField(draft);
  if (field === undefined && draft.random.between(0, 3) > 0) return withQuery(request, name, "1");
  if (field === undefined || draft.random.between(0, 3) === 0) {
    return withHeader({ ...request, body: Buffer.from(value) }, "Content-Type", "application/json");
  }
  return withField(request, draft, field, value);
}

/** Chooses one of the body's fields, or of its elements' fields. */
function pickField({ random, route: { body } }: Draft): string | undefined {
  if (body === undefined) return undefined;
  const names = listFields(body, body);
  return names[random.between(0, names.length - 1)];
}

function listFields(schema: BodySchema, root: BodySchema): string[] {
  const named = root.$defs?.[schema.$ref?.split("/").at(-1) ?? ""];
  return Object.keys((named ?? schema).properties ?? {});
}

/** Headers that some process or library parses. */
const READ_HEADERS = words(`Accept-Encoding Accept-Language Authorization Content-Encoding
  Content-Length Content-Type Cookie Expect Forwarded Host Idempotency-Key If-Match If-None-Match
  Last-Event-ID Origin Range Referer Sec-Fetch-Dest Sec-Fetch-Site Sec-Purpose Transfer-Encoding
  Upgrade User-Agent X-Firefox-AI X-Forwarded-For X-Forwarded-Host X-HTTP-Method-Override X-Moz
  X-Purpose X-Request-Id`);

/** Values of headers that are read, beside those that any header may have. */
const HEADER_VALUES: readonly [name: string, values: readonly [string, ...string[]]][] = [
  ["X-Forwarded-For", words("::1 [::]:80 1.2.3.4.5 0x7f.1 unknown fe80::1%eth0 ::ffff:1.2.3.4")],
  [
    "Host",
    [
      ...words("xn--80ak6aa92e.example [::1 [::1]:x localhost:99999 localhost:80:80 a@b sho.rt/x?"),
      ...words("LOCALHOST. * é"),
      "",
      "a b",
    ],
  ],
  ["Idempotency-Key", ["", " ", "k".repeat(256), "k".repeat(8_000), "same", "\xe9", "a,b"]],
  [
    "Authorization",
    [
      "Bearer",
      "Bearer ",
      "Basic Og==",
      "bearer x",
      "Bearer a b",
      "\xff",
      `Bearer ${"a".repeat(8_000)}`,
      `Bearer sk_live_${"a".repeat(61)}`,
    ],
  ],
  [
    "Content-Type",
    [
      "*/*",
      "multipart/form-data; boundary=",
      "multipart/form-data; boundary=x",
      "application/x-www-form-urlencoded",
      "text/csv",
      "application/json; charset=",
      "application/json;;;;",
      `application/json${";a=b".repeat(2_000)}`,
    ],
  ],
  ["Content-Encoding", ["gzip", "br", "deflate", "gzip, gzip", "identity", "x"]],
  ["Expect", ["100-continue", "x", "100-continue, x"]],
  ["Connection", ["close", "upgrade", "keep-alive, close", "host", "transfer-encoding"]],
  ["Last-Event-ID", ["-1", "0", "9".repeat(50), "a:b:c", "::", "\xff"]],
];
const ANY_VALUES = ["", ",", "*", '"', "a\tb", "-1", "9".repeat(400), "\x7f"] as const;
const BAD_NAMES = ["", " a", "a b", "a:", "\x00", "é", "a\r\n b", "x".repeat(9_000)] as const;

/** Many, repeated, long and malformed headers. */
function headers(draft: Draft): HttpRequest {
  const { random } = draft;
  const request = createValidRequest(draft);
  const name = random.pick(READ_HEADERS);
  const count = random.pick([2, 50, 101, 1_000, 5_000]);
  const list = (create: (i: number) => string): string[] =>
    Array.from({ length: count }, (_, i) => create(i));
  const addHeaders = (create: (i: number) => string): HttpRequest => {
    request.headers.push(...list(create).map((one): [string, string] => [one, "1"]));
    return request;
  };
  return random.pick([
    () => addHeaders((i) => `X-${i}`),
    () => addHeaders(() => name),
    () => withHeader(request, "Cookie", list((i) => `c${i}=1`).join("; ")),
    () => withHeader(request, "X-Forwarded-For", list((i) => `10.0.${i & 255}.1`).join()),
    () => withHeader(request, "Host", `${"a.".repeat(count)}b`),
    () => withHeader(request, name, random.pick(ANY_VALUES)),
    () => withHeader(request, random.pick(BAD_NAMES), "1"),
    ...HEADER_VALUES.map(
      ([known, values]) =>
        () =>
          withHeader(request, known, random.pick(values)),
    ),
  ])();
}
