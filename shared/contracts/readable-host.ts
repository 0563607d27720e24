/** Readable host names: `bücher.de` for `xn--bcher-kva.de`, unless it looks like another name. */

/** Labels that do not look like others: of one script, or of scripts that are written together. */
const ALPHABETS: readonly RegExp[] = [
  // Letters of European languages, without phonetic letters, which resemble others.
  /^[-0-9a-zß-öø-ÿāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįĵķĺļľłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷźżž]+$/u,
  /^[-0-9\p{Script=Cyrillic}]+$/u,
  /^[-0-9\p{Script=Greek}]+$/u,
  /^[-0-9\p{Script=Arabic}]+$/u,
  /^[-0-9\p{Script=Hebrew}]+$/u,
  /^[-0-9\p{Script=Devanagari}]+$/u,
  /^[-0-9\p{Script=Thai}]+$/u,
  /^[-0-9\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+$/u,
  /^[-0-9\p{Script=Han}\p{Script=Hangul}]+$/u,
];

/**
 * Cyrillic and Greek labels that consist of letters which resemble Latin ones, after Chromium's
 * lists.
 */
const LOOK_ALIKES: readonly RegExp[] = [
  /^[-0-9аысԁеԍһіюјӏорԗԛѕԝхуъьҽпгѵѡ]+$/u,
  /^[-0-9αικνρυωηοτ]+$/u,
];

/**
 * Returns a host name with the Unicode of its `xn--` labels; labels that resemble others stay as
 * they are.
 */
export const readableHost = (host: string): string => host.split(".").map(readableLabel).join(".");

/** Returns a URL without its scheme, and with a readable host. */
export function readableUrl(url: string): string {
  const [host = "", ...path] = url.replace(/^https?:\/\//, "").split("/");
  return [readableHost(host), ...path].join("/");
}

/** The most characters of a label (RFC 1035). */
const LABEL_LENGTH_MAX = 63;

function readableLabel(label: string): string {
  if (!/^xn--/i.test(label) || label.length > LABEL_LENGTH_MAX) return label;
  const text = decodePunycode(label.slice(4).toLowerCase());
  const isReadable =
    text !== undefined &&
    encodeHost(text) === label.toLowerCase() &&
    ALPHABETS.some((alphabet) => alphabet.test(text)) &&
    !LOOK_ALIKES.some((letters) => letters.test(text));
  return isReadable ? text : label;
}

/** The host that a browser opens for a text (UTS #46); undefined when it is no host. */
function encodeHost(text: string): string | undefined {
  try {
    return new URL(`http://${text}`).hostname;
  } catch {
    return undefined;
  }
}

/** Parameters of Punycode (RFC 3492, section 5). */
const BASE = 36;
const T_MIN = 1;
const T_MAX = 26;
const SKEW = 38;
const DAMP = 700;
const BIAS = 72;
const FIRST = 128;
const LAST = 0x10_ff_ff;

/** Decodes the text after `xn--` (RFC 3492, section 6.2); undefined if it is not Punycode. */
function decodePunycode(text: string): string | undefined {
  const end = text.lastIndexOf("-");
  const points = Array.from(text.slice(0, Math.max(0, end)), (character) =>
    character.charCodeAt(0),
  );
  const digits = Array.from(text.slice(end + 1), toDigit);
  let [point, position, bias, at] = [FIRST, 0, BIAS, 0];
  while (at < digits.length) {
    const before = position;
    for (let weight = 1, k = BASE; ; k += BASE) {
      const digit = digits[at++];
      if (digit === undefined || digit < 0) return undefined;
      position += digit * weight;
      const threshold = Math.min(T_MAX, Math.max(T_MIN, k - bias));
      if (digit < threshold) break;
      weight *= BASE - threshold;
    }
    const length = points.length + 1;
    bias = adapt(position - before, length, before === 0);
    point += Math.floor(position / length);
    if (point > LAST) return undefined;
    position %= length;
    points.splice(position++, 0, point);
  }
  return String.fromCodePoint(...points);
}

/** `a` to `z` are 0 to 25, `0` to `9` are 26 to 35; others are -1. */
const toDigit = (character: string): number =>
  "abcdefghijklmnopqrstuvwxyz0123456789".indexOf(character);

function adapt(delta: number, length: number, isFirst: boolean): number {
  let rest = Math.floor(delta / (isFirst ? DAMP : 2));
  rest += Math.floor(rest / length);
  let k = 0;
  for (; rest > ((BASE - T_MIN) * T_MAX) / 2; k += BASE) rest = Math.floor(rest / (BASE - T_MIN));
  return k + Math.floor(((BASE - T_MIN + 1) * rest) / (rest + SKEW));
}
