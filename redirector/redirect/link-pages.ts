/**
 * Responds with pages for links: the about page `/alias+`, and the card for link-preview agents.
 */
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import type { Preview } from "../../shared/contracts/redirect-settings.ts";
import type { CachedLink } from "../../shared/links-store/record.ts";
import type { IncomingRequest } from "../http/request.ts";
import type { PageResponse } from "../http/response.ts";
import { creationTimeOf } from "../pages/about-page.ts";
import type { ErrorPages } from "../pages/error-pages.ts";
import { previewPage } from "../pages/preview-page.ts";
import { aliasPathOf } from "./beyond-alias.ts";
import { type Destinations, toText } from "./destination.ts";
import type { RequestReader } from "./request-reader.ts";

type PagesDeps = {
  destinations: Pick<Destinations, "targetOf">;
  reader: Pick<RequestReader, "settingsOf">;
  pages: ErrorPages;
  /** The scheme of short URLs. */
  scheme: "http:" | "https:";
};

export const createLinkPages = ({ destinations, reader, pages, scheme }: PagesDeps) => ({
  /** Renders a link's about page, which shows fields of the record that are not cached. */
  about(incoming: IncomingRequest, link: CachedLink, record: LinkRecord | undefined): PageResponse {
    const active = record?.state === "active" ? record : undefined;
    const { split, preview } = reader.settingsOf(link)?.settings ?? {};
    const about = {
      destination: toText(destinations.targetOf(incoming, link)?.url ?? link.destination),
      varies: link.rules !== null || split !== undefined,
      // The link's own title is for its account only.
      title: preview?.title,
      createdAt: active && creationTimeOf(active.link_id),
      hostChangedAt: active?.host_changed_at,
      path: aliasPathOf(incoming.head),
    };
    return pages.of(incoming.head).about(about, incoming.now);
  },
  /** Renders a link's card, with its short URL. */
  preview: ({ head }: IncomingRequest, preview: Preview): PageResponse =>
    previewPage(preview, `${scheme}//${head.host}${aliasPathOf(head)}`),
});
