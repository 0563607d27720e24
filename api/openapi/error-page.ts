/** The page that an error's `doc_url` links to: every code, when it occurs, and its status. */
import { ERRORS } from "../http/errors.ts";

const toCode = (text: string): string => text.replaceAll(/`([^`]+)`/g, "<code>$1</code>");

const ENTRIES = Object.entries(ERRORS)
  .map(
    ([code, [status, when]]) =>
      `<dt id="${code}"><code>${code}</code> (${status})</dt>\n<dd>${toCode(when)}</dd>`,
  )
  .join("\n");

export const ERROR_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Errors of the Shorthop API</title>
<link rel="icon" href="data:,">
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 45rem; padding: 0 1rem; }
dt { margin-top: 1rem; }
:target { background: #fff3b0; }
</style>
</head>
<body>
<h1>Errors</h1>
<p>Every error has a stable <code>code</code> and a <code>message</code> for people. <code>param</code> names the field or
query parameter that it is about, and <code>details</code> lists every problem that was found.
See the <a href="/docs">reference</a>.</p>
<dl>
${ENTRIES}
</dl>
</body>
</html>
`;
