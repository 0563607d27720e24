declare module "punycode.js" {
  /** Decodes Punycode (RFC 3492); throws a `RangeError` if the text is none. */
  export function decode(text: string): string;
}
