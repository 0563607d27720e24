/** Schemas of a domain's settings, shared by the API and the dashboard's forms. */
import * as z from "zod";

import { pastedUrl } from "./link-fields.ts";
import { redirectStatus } from "./link-settings.ts";

/** Maximum bytes of a file for apps, as compact JSON. */
export const APP_FILE_BYTES_MAX = 16 * 1024;

const ROOT_URL = "https://www.example.com/";
const NOT_FOUND_URL = "https://www.example.com/not-found";
const EXPIRED_URL = "https://www.example.com/over";
const APP_SITE_ASSOCIATION = {
  applinks: { details: [{ appIDs: ["ABCDE12345.com.example.app"] }] },
};
const ASSET_LINKS = [{ relation: ["delegate_permission/common.handle_all_urls"] }];

const fallback = (description: string, example: string) =>
  pastedUrl.meta({ description, examples: [example] });

/** Each field replaces the whole setting; null switches it off. */
export const changeDomainBody = z
  .strictObject({
    root_url: fallback(
      "Where `/` of the domain redirects; null for an error page.",
      ROOT_URL,
    ).nullish(),
    not_found_url: fallback(
      "Where an alias without a link redirects; null for an error page.",
      NOT_FOUND_URL,
    ).nullish(),
    expired_url: fallback(
      "Where an expired link without an `expired_url` of its own redirects; null for an error page.",
      EXPIRED_URL,
    ).nullish(),
    redirect_status: redirectStatus.nullish().meta({
      description:
        "The status of redirects of links without one of their own: 301, 302, 307 or 308; null for 302.",
      examples: [301],
    }),
    case_sensitive: z
      .boolean()
      .optional()
      .meta({
        description:
          "Whether aliases that differ only in case are different. A domain with more than 10,000 links cannot switch.",
        examples: [false],
      }),
    apple_app_site_association: z
      .record(z.string(), z.unknown())
      .nullish()
      .meta({
        description:
          "The file for iOS apps at `/.well-known/apple-app-site-association`; null for none. At most 16 KiB.",
        examples: [APP_SITE_ASSOCIATION],
      }),
    assetlinks: z
      .array(z.unknown())
      .nullish()
      .meta({
        description:
          "The file for Android apps at `/.well-known/assetlinks.json`; null for none. At most 16 KiB.",
        examples: [ASSET_LINKS],
      }),
  })
  .meta({
    id: "DomainChange",
    description: "Settings of a domain to change.",
    examples: [{ root_url: ROOT_URL, not_found_url: NOT_FOUND_URL }],
  });

export type ChangeDomainBody = z.output<typeof changeDomainBody>;

/** Fields of a response; a setting that is off is absent. */
export const domainSettingsResponse = {
  root_url: fallback(
    "Where `/` of the domain redirects; without it, an error page.",
    ROOT_URL,
  ).optional(),
  not_found_url: fallback(
    "Where an alias without a link redirects; without it, an error page.",
    NOT_FOUND_URL,
  ).optional(),
  expired_url: fallback(
    "Where an expired link without an `expired_url` of its own redirects.",
    EXPIRED_URL,
  ).optional(),
  redirect_status: redirectStatus.optional().meta({
    description: "The status of redirects of links without one of their own; without it, 302.",
    examples: [301],
  }),
  case_sensitive: z
    .literal(false)
    .optional()
    .meta({ description: "Aliases that differ only in case are the same." }),
  switching: z.literal(true).optional().meta({
    description:
      "Links are being republished under aliases of the other case; until then, both redirect.",
  }),
  apple_app_site_association: z.record(z.string(), z.unknown()).optional().meta({
    description:
      "The file for iOS apps at `/.well-known/apple-app-site-association`; null for none. 16 KiB at most.",
  }),
  assetlinks: z
    .array(z.unknown())
    .optional()
    .meta({
      description:
        "The file for Android apps at `/.well-known/assetlinks.json`; null for none. 16 KiB at most.",
      examples: [ASSET_LINKS],
    }),
};
