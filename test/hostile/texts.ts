/** Texts and values that are known to break parsers. All of them are bounded. */
import type { Random } from "../harness/random.ts";

/** The words of a text; the first exists. */
export const words = (text: string): [string, ...string[]] => {
  const [first = "", ...others] = text.trim().split(/\s+/);
  return [first, ...others];
};

/** Repeated strings that trigger regular expressions' backtracking and other quadratic work. */
const PUMPS: readonly [string, ...string[]] = [
  ...words(String.raw`a A1 0 9 . a. - a- / ../ \ % %25 %00 _ %_\ @ a@ : :: 0: [ ( { ' " & &a=1 = ; , +
    T xn-- xn--a. ß İ 🎈 👍🏽 $ <!--`),
  " ",
  "\t",
  ";q=0 ",
  ", ",
  "${",
  "\u0301",
  "a\u0301",
  "\ufdfa",
  "\u202e",
  "\ud800",
  "\u0000",
];

/** Valid beginnings of fields with these names, so that parsers read beyond the first character. */
const PREFIXES: Readonly<Record<string, readonly string[]>> = {
  url: ["https://", "http://a.example/", "https://[", "https://a.example/?", "https://xn--"],
  email: ["a@", "a@b.", "user@example.com"],
  domain: ["", "a.", "xn--"],
  timezone: ["Europe/", "+", "Etc/GMT"],
  start_date: ["2026-01-01", "2026-01-01T00:00:00.", "-"],
  end_date: ["2026-01-01", "+275760-"],
  expires_at: ["2027-01-01T00:00:00.", "2027-01-01T00:00:00+"],
  period: ["7", "24"],
  alias: ["a", "a-", "a/", "a.", "é", "👍🏽"],
  link_ids: ["link_"],
  scopes: ["links:"],
  query: ["SELECT ", "SELECT '", "SELECT /*", "SELECT {a:String}"],
};

const SUFFIXES: readonly [string, ...string[]] = ["", "!", "\u0000", " x", "\n", "@", "=", '"'];

/** Creates a text for a field with this name, `length` characters long or slightly longer. */
export function createPumpedText(random: Random, name: string, length: number): string {
  const [first = "", ...others] = PREFIXES[name] ?? [""];
  const pump = random.pick(PUMPS);
  const body = pump.repeat(Math.ceil(length / pump.length));
  return random.pick([first, ...others]) + body + random.pick(SUFFIXES);
}

const DEEP_BELOW = 1_000;

/** JSON values as text; some only look valid. */
export const VALUES: readonly [string, ...string[]] = [
  ...words(String.raw`null true 0 -0 1e999 -1e999 1e-999 NaN Infinity 0x10 01 9007199254740993
    "" "\u0000" "\ud800" "\udc00\ud800" "\u202e" "__proto__" "constructor" "toString" "%" "%_\\" "\\"
    "../../etc/passwd" "-271821-04-20T00:00:00Z" "+275760-09-13T00:00:00.001Z" "2026-02-30"
    "2026-13-45T99:99:99Z" "2016-12-31T23:59:60Z" "0000-00-00" "9999-12-31T23:59:59.999Z"
    "Europe/Nowhere" "UTC+99:99" "GMT+0/../../etc/localtime" "https://example.com/" "https://xn--0/"
    "https://[::1%25eth0]/" "http://0x7f.1/" "javascript:alert(1)" [] {} [[]]
    {"__proto__":{"polluted":true}} {"constructor":{"prototype":{"polluted":true}}}
    {"toString":null,"valueOf":null,"then":1,"length":-1} {"$ne":null} [null,null,null]`),
  '" "',
  '"\' or 1=1 --"',
  "\"=cmd|' /C calc'!A0\"",
  '"{{7*7}}${7*7}"',
  "9".repeat(400),
  `0.${"1".repeat(5_000)}`,
  "1".repeat(50_000),
  "[".repeat(DEEP_BELOW) + "]".repeat(DEEP_BELOW),
];

/** Path parameters and query values, in the form they have in a URL. */
export const URL_PARTS: readonly [string, ...string[]] = [
  "",
  ...words(`% %0 %zz %00 %ff %c0%af %ed%a0%80 %f8%88%80%80%80 %u0041 %25%32%66 ..%2f..%2fetc%2fpasswd
    .. . %2e%2e %5c ;a=b __proto__ constructor toString hasOwnProperty prototype valueOf
    __defineGetter__ index.html swagger-ui.js null undefined -1 0 NaN 1e999 99999999999999999999
    %0d%0aset-cookie:%20a=b %E2%80%AE e%CC%81 link_00000000000000000000000000
    link_7zzzzzzzzzzzzzzzzzzzzzzzzz link_zzzzzzzzzzzzzzzzzzzzzzzzzz sk_live_aaaaaaaaaaaa
    '%20or%201=1%20-- %25_%5C %F0%9F%8E%88 %F0%9F%91%A9%E2%80%8D%F0%9F%92%BB a%E2%80%8Db a%2Fb a/b a//b
    a/.%2e v1.2 a. ~a a/b+ r\xc3\xa9sum%C3%A9 %C3\xa9 .well-known%2Fa`),
];

/** Invalid UTF-8, and control bytes that no field should accept. */
export const BAD_BYTES: readonly [Buffer, ...Buffer[]] = [
  Buffer.from([0xff]),
  ...words(`feff c0af e080af eda080 f4908080 f888808080 80 c3 efbbbf 00 1b5b324a 7f`).map((hex) =>
    Buffer.from(hex, "hex"),
  ),
];
