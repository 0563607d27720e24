/**
 * The page for link-preview agents: a card in Open Graph (https://ogp.me), without the destination.
 */
import type { Preview } from "../../shared/contracts/redirect-settings.ts";
import type { PageResponse } from "../http/response.ts";

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "private, no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
};

/** Renders a link's card; `shortUrl` is the link's own. */
export function previewPage(
  { title, description, image }: Preview,
  shortUrl: string,
): PageResponse {
  const tags = [
    meta("property", "og:type", "website"),
    meta("property", "og:title", title),
    meta("property", "og:url", shortUrl),
    // X reads the rest from Open Graph.
    meta("name", "twitter:card", image === undefined ? "summary" : "summary_large_image"),
    ...(description === undefined
      ? []
      : [
          meta("name", "description", description),
          meta("property", "og:description", description),
        ]),
    ...(image === undefined ? [] : [meta("property", "og:image", image)]),
  ];
  const name = Bun.escapeHTML(title);
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${name}</title>
${tags.join("\n")}
</head>
<body>
<h1>${name}</h1>
<p>${Bun.escapeHTML(description ?? "")}</p>
</body>
</html>
`;
  return { status: 200, headers: HEADERS, body: Buffer.from(html) };
}

const meta = (attribute: "name" | "property", name: string, content: string): string =>
  `<meta ${attribute}="${name}" content="${Bun.escapeHTML(content)}">`;
