/** Modules without types of their own, and files that are bundled, as their path or their text. */
declare module "swagger-ui-dist/swagger-ui-bundle.js" {
  const path: string;
  export default path;
}

declare module "swagger-ui-dist/swagger-ui.css" {
  const path: string;
  export default path;
}

declare module "*.css" {
  const text: string;
  export default text;
}

declare module "*.md" {
  const text: string;
  export default text;
}

declare module "*.sql" {
  const text: string;
  export default text;
}

declare module "punycode.js" {
  /** Decodes Punycode (RFC 3492); throws a `RangeError` if the text is none. */
  export function decode(text: string): string;
}
