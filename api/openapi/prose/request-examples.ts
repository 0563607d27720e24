/**
 * Complete request bodies by operation, which the page at `/docs` sends unchanged. Other bodies are
 * built from the examples of their fields.
 */
import { LINK_ID, LONG_URL } from "../../../shared/contracts/examples.ts";

export const REQUEST_EXAMPLES: Readonly<Record<string, unknown>> = {
  createLink: {
    url: LONG_URL,
    alias: "spring-sale",
    title: "Spring sale",
    tags: ["spring", "newsletter"],
    utm_source: "newsletter",
  },
  createLinks: {
    links: [{ url: LONG_URL }, { url: "https://example.com/shoes", alias: "shoes" }],
  },
  checkLinks: {
    links: [{ url: LONG_URL }, { url: "https://example.com/shoes", alias: "shoes" }],
  },
  upsertLink: { url: LONG_URL, title: "Spring sale" },
  updateLinks: { links: [{ id: LINK_ID, title: "Spring sale, extended" }] },
  updateTag: { name: "spring-sale", color: "green" },
  updateBranding: { name: "Acme", color: "#1d4ed8" },
  updateDomain: {
    root_url: "https://www.example.com/",
    not_found_url: "https://www.example.com/not-found",
  },
  updateLink: { title: "Spring sale, extended", expires_at: "2030-01-01T00:00:00Z" },
};
