/** The few pages people see: small, without any outside asset, readable by every kind of reader. */

/** An answer that is no redirect of a link. */
export type Page = { status: number; headers: Record<string, string>; body: string };

/** What pages are made of, where the operator has nothing of their own. */
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
 * Styles of the template alone apply, and images within it: nothing is loaded, nothing runs. A form may
 * lead anywhere, as browsers hold the redirect that follows a right password to `form-action`.
 */
function headersOf(template: string): Record<string, string> {
  const styles = [...template.matchAll(/<style\b[^>]*>(.*?)<\/style>/gis)].map(([, style = ""]) => {
    const hash = new Bun.CryptoHasher("sha256").update(style).digest("base64");
    return `'sha256-${hash}'`;
  });
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
  not_found: { status: 404, title: "Link not found", text: "There is no link at this address." },
  expired: { status: 410, title: "Link expired", text: "This link is no longer available." },
  method_not_allowed: {
    status: 405,
    title: "Method not allowed",
    text: "A short link can only be followed.",
  },
  too_many: {
    status: 429,
    title: "Too many requests",
    text: "Too many addresses without a link were asked for from where you are. Please wait a moment.",
  },
  unavailable: {
    status: 503,
    title: "Temporarily unavailable",
    text: "This link cannot be looked up right now. Please try again in a moment.",
  },
} as const;

/** `/robots.txt`: nothing is closed to robots, and nothing is to be indexed. */
export const ROBOTS: Page = {
  status: 200,
  headers: { "content-type": "text/plain; charset=utf-8", "x-robots-tag": "noindex" },
  body: "User-agent: *\nAllow: /\n",
};

/** `/favicon.ico`. */
export const FAVICON: Page = {
  status: 204,
  headers: { "cache-control": "max-age=86400" },
  body: "",
};

/** A redirect to where the operator wants visitors of the bare domain. */
export const redirectPage = (location: string): Page => ({
  status: 302,
  headers: { location, "cache-control": "private, no-store" },
  body: "",
});

const PASSWORD_STATES = {
  asked: { status: 401, alert: "" },
  wrong: { status: 401, alert: "That is not the right password." },
  limited: { status: 429, alert: "Too many tries. Please wait a while." },
} as const;

const PASSWORD_FORM = `<form method="post">
<label for="password">Password</label>
<input id="password" name="password" type="password" maxlength="128" autocomplete="off" required autofocus>
<button type="submit">Continue</button>
</form>`;

export type Pages = ReturnType<typeof createPages>;

/** The pages in `template`, in which `{{title}}` and `{{content}}` are filled in; styles may be inline. */
export function createPages(template: string = TEMPLATE) {
  const ownHeaders = headersOf(template);

  function page(
    status: number,
    title: string,
    content: string,
    headers: Record<string, string>,
  ): Page {
    const body = template
      .replaceAll("{{title}}", () => title)
      .replaceAll("{{content}}", () => content);
    return { status, headers: { ...ownHeaders, ...headers }, body };
  }

  return {
    /** A page with a message; `headers` are added to those every page has. */
    message(name: keyof typeof MESSAGES, headers: Record<string, string> = {}): Page {
      const { status, title, text } = MESSAGES[name];
      return page(status, title, `<p>${text}</p>`, headers);
    },
    /** The page that asks for a link's password. */
    password(state: keyof typeof PASSWORD_STATES, headers: Record<string, string> = {}): Page {
      const { status, alert } = PASSWORD_STATES[state];
      const said = alert === "" ? "" : `<p role="alert">${alert}</p>\n`;
      return page(status, "This link needs a password", said + PASSWORD_FORM, headers);
    },
  };
}
