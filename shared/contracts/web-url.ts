/** The form of a destination, on what the WHATWG parser makes of it: the same in forms and in the API. */

/** The most characters of a destination after normalising. */
export const URL_LENGTH_MAX = 8_192;

/** Reads an absolute http or https URL; gives the reason, as a sentence, when it is none that we take. */
export function parseWebUrl(text: string): { original: string; url: URL } | { problem: string } {
  const original = text.trim();
  // The parser would drop tabs and line breaks silently; what is stored must be what was meant.
  if (hasControlCharacter(original)) return { problem: "The URL holds a control character." };
  if (!URL.canParse(original)) return { problem: "The URL is not a valid absolute URL." };
  const url = new URL(original);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return { problem: "The URL must be an http or https URL." };
  }
  if (url.href.length > URL_LENGTH_MAX) {
    return { problem: `The URL may have ${URL_LENGTH_MAX} characters at most.` };
  }
  if (url.username !== "" || url.password !== "") {
    return { problem: "The URL must not hold a user name or a password." };
  }
  return { original, url };
}

function hasControlCharacter(text: string): boolean {
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return true;
  }
  return false;
}
