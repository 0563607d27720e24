/** The HTML around the content of pages: the default, or the operator's. */
import type { Text } from "../../shared/languages/messages.ts";

/** Maximum `<style>` elements of a template: each adds 55 bytes to the head of every response. */
const STYLES_MAX = 32;

/** A template is invalid; the message says why. */
export class TemplateError extends Error {
  override name = "TemplateError";
}

/** The default template. */
export const TEMPLATE = `<!doctype html>
<html lang="{{lang}}" dir="{{dir}}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{title}}</title>
<style>
:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1rem;box-sizing:border-box;background:Canvas;color:CanvasText}
main{max-width:26rem;width:100%}
h1{font-size:1.4rem;margin:0 0 .5rem}
p{margin:0 0 1rem}
label{display:block;font-weight:600;margin-bottom:.25rem}
input,button{font:inherit;padding:.5rem .75rem;box-sizing:border-box;width:100%}
button{margin-top:.75rem;cursor:pointer}
[role=alert]{color:#b00020;font-weight:600}
dt{font-weight:600}
dd{margin:0 0 .75rem;overflow-wrap:anywhere}
@media(prefers-color-scheme:dark){[role=alert]{color:#ff8a80}}
</style>
</head>
<body>
<main>
<h1>{{title}}</h1>
{{content}}
</main>
</body>
</html>
`;

/**
 * The headers of a template's pages. Their policy allows the template's own styles, by
 * hash, and `data:` images; no scripts, and nothing external. `form-action` allows every
 * destination, because browsers also apply it to the redirect after a correct password. Throws
 * {@link TemplateError} when there are too many styles.
 */
export function headersOf(template: string): Record<string, string> {
  const styles = [...template.matchAll(/<style\b[^>]*>(.*?)<\/style>/gis)].map(([, style = ""]) => {
    const hash = new Bun.CryptoHasher("sha256").update(style).digest("base64");
    return `'sha256-${hash}'`;
  });
  if (styles.length > STYLES_MAX) {
    throw new TemplateError(`has more than ${STYLES_MAX} <style> elements`);
  }
  const policy = [
    "default-src 'none'",
    `style-src ${styles.length === 0 ? "'none'" : styles.join(" ")}`,
    "img-src data:",
    "form-action http: https:",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  return {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "private, no-store",
    "content-security-policy": policy.join("; "),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-robots-tag": "noindex",
  };
}

/** The values of a template's placeholders; `title` and `content` are HTML. */
export type Filling = { title: string; content: string; lang: string; dir: string };

const PLACEHOLDER = /\{\{(title|content|lang|dir)\}\}/g;

/** The placeholder of the content. */
export const CONTENT = "{{content}}";

/** Replaces the placeholders of a template. */
export const fillTemplate = (template: string, filling: Filling): string =>
  // The pattern has no other names.
  template.replaceAll(PLACEHOLDER, (_, name: keyof Filling) => filling[name]);

/**
 * Whether the pages of a template are translated. One that does not say where its language goes is
 * written in one language.
 */
export const isTranslatable = (template: string): boolean => template.includes("{{lang}}");

/** A text without placeholders as HTML. */
export const escapeText = (text: Text): string => Bun.escapeHTML(text());

/** Maps each value of an object by its name. */
export function mapValues<Name extends string, From, To>(
  values: Readonly<Record<Name, From>>,
  change: (value: From, name: Name) => To,
): Record<Name, To> {
  // The types of Object.entries and Object.fromEntries lose the names of `values`.
  const entries = (Object.entries(values) as [Name, From][]).map(([name, value]) => [
    name,
    change(value, name),
  ]);
  return Object.fromEntries(entries) as Record<Name, To>;
}
