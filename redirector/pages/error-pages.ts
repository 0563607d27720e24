/**
 * The error pages, the password form and the confirmation: small, accessible, without external
 * assets.
 */
import { PAGE_BYTES_MAX, type PageResponse } from "../http/response.ts";

/** Maximum `<style>` elements of a template: each adds 55 bytes to the head of every response. */
const STYLES_MAX = 32;

/** A template is invalid; the message says why. */
export class TemplateError extends Error {
  override name = "TemplateError";
}

/** The default template. */
const TEMPLATE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{title}}</title>
<style>
:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1rem;box-sizing:border-box}
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
 * Creates the headers of pages. Their policy allows the template's own styles, by hash, and `data:`
 * images; no scripts, and nothing external. `form-action` allows every destination, because
 * browsers also apply it to the redirect after a correct password.
 */
function createHeaders(template: string): Record<string, string> {
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

const MESSAGES = {
  home: { status: 200, title: "Short links", text: "This address serves short links." },
  bad_request: { status: 400, title: "Bad request", text: "This address is malformed." },
  not_found: { status: 404, title: "Link not found", text: "There is no link at this address." },
  expired: { status: 410, title: "Link expired", text: "This link is no longer available." },
  limit_reached: {
    status: 410,
    title: "Link used up",
    text: "This link has been opened as often as it may be.",
  },
  busy: {
    status: 503,
    title: "Please try again",
    text: "Others are opening this link right now. Please try again in a moment.",
  },
  taken_down: {
    status: 451,
    title: "Link taken down",
    text: "The operator of this service has taken this link down.",
  },
  method_not_allowed: {
    status: 405,
    title: "Method not allowed",
    text: "A short link can only be followed.",
  },
  uri_too_long: {
    status: 414,
    title: "Address too long",
    text: "What was added to the address of this link is too long to be passed on.",
  },
  rate_limited: {
    status: 429,
    title: "Too many requests",
    text: "Too many addresses without a link were requested from your network. Please wait a moment.",
  },
  unavailable: {
    status: 503,
    title: "Temporarily unavailable",
    text: "This link cannot be looked up right now. Please try again in a moment.",
  },
} as const;

const PASSWORD_STATES = {
  required: { status: 401, alert: "" },
  wrong: { status: 401, alert: "That is not the right password." },
  limited: { status: 429, alert: "Too many tries. Please wait a while." },
  busy: { status: 503, alert: "Too many people are trying. Please try again in a moment." },
} as const;

const PASSWORD_FORM = `<form method="post">
<label for="password">Password</label>
<input id="password" name="password" type="password" maxlength="128" autocomplete="off" required autofocus>
<button type="submit">Continue</button>
</form>`;

/** Programs follow links, but do not press buttons. */
const CONFIRM_FORM = `<p>The link leads to another site.</p>
<form method="post">
<button type="submit" name="confirm" value="yes" autofocus>Open the link</button>
</form>`;

export type ErrorPages = ReturnType<typeof createErrorPages>;

/**
 * Renders all pages from `template` by replacing `{{title}}` and `{{content}}`; `<style>` elements are allowed.
 * Throws {@link TemplateError} when a page has more than {@link PAGE_BYTES_MAX} bytes or too many styles.
 */
export function createErrorPages(template: string = TEMPLATE) {
  const pageHeaders = createHeaders(template);

  const fill = (title: string, content: string): string =>
    template.replaceAll("{{title}}", () => title).replaceAll("{{content}}", () => content);

  function render(title: string, content: string): Buffer {
    const body = Buffer.from(fill(title, content));
    if (body.length > PAGE_BYTES_MAX) {
      throw new TemplateError(
        `makes a page of ${body.length} bytes; at most ${PAGE_BYTES_MAX} are allowed`,
      );
    }
    return body;
  }

  const messages = mapValues(MESSAGES, ({ status, title, text }) => ({
    status,
    body: render(title, `<p>${text}</p>`),
  }));
  const forms = mapValues(PASSWORD_STATES, ({ status, alert }) => {
    const alertHtml = alert === "" ? "" : `<p role="alert">${alert}</p>\n`;
    return { status, body: render("This link needs a password", alertHtml + PASSWORD_FORM) };
  });

  const confirmation = { status: 200, body: render("Open this link?", CONFIRM_FORM) };

  return {
    /** Returns the page on which a visitor confirms the redirect. */
    confirmation: (): PageResponse => ({ ...confirmation, headers: pageHeaders }),
    /** Returns an error page; `headers` are added to those of every page. */
    message: (name: keyof typeof MESSAGES, headers: Record<string, string> = {}): PageResponse => ({
      ...messages[name],
      headers: { ...pageHeaders, ...headers },
    }),
    /**
     * Renders another page. `content` is HTML of at most about 60 KiB, for which responses have
     * space.
     */
    page: (title: string, content: string): PageResponse => ({
      status: 200,
      headers: pageHeaders,
      body: Buffer.from(fill(title, content)),
    }),
    /** Returns the password form. */
    password: (
      state: keyof typeof PASSWORD_STATES,
      headers: Record<string, string> = {},
    ): PageResponse => ({ ...forms[state], headers: { ...pageHeaders, ...headers } }),
  };
}

/** Maps each value of an object. */
function mapValues<Name extends string, From, To>(
  values: Readonly<Record<Name, From>>,
  change: (value: From) => To,
): Record<Name, To> {
  const entries = Object.entries<From>(values).map(([name, value]) => [name, change(value)]);
  // The type of Object.fromEntries loses the names of `values`.
  return Object.fromEntries(entries) as Record<Name, To>;
}
