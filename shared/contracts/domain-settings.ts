/** Schemas of a domain's settings, shared by the API and the dashboard's forms. */
import * as z from "zod";

/** Most bytes of a file for apps, as compact JSON. */
export const APP_FILE_BYTES_MAX = 16 * 1024;

const fallback = (description: string, example: string) =>
  z
    .string()
    .nullish()
    .meta({ description, examples: [example] });

/** Each field replaces the whole setting; null switches it off. */
export const changeDomainBody = z
  .strictObject({
    root_url: fallback("Where `/` leads; null for an error page.", "https://www.example.com/"),
    not_found_url: fallback(
      "Where an alias without a link leads; null for an error page.",
      "https://www.example.com/not-found",
    ),
    expired_url: fallback(
      "Where an expired link leads that has no `expired_url` of its own; null for an error page.",
      "https://www.example.com/over",
    ),
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
        examples: [{ applinks: { details: [{ appIDs: ["ABCDE12345.com.example.app"] }] } }],
      }),
    assetlinks: z
      .array(z.unknown())
      .nullish()
      .meta({
        description:
          "The file for Android apps at `/.well-known/assetlinks.json`; null for none. At most 16 KiB.",
        examples: [[{ relation: ["delegate_permission/common.handle_all_urls"] }]],
      }),
  })
  .meta({ id: "DomainChange" });

export type ChangeDomainBody = z.output<typeof changeDomainBody>;

/** Fields of a response; a setting that is off is absent. */
export const domainSettingsResponse = {
  root_url: z.string().optional(),
  not_found_url: z.string().optional(),
  expired_url: z.string().optional(),
  case_sensitive: z
    .literal(false)
    .optional()
    .meta({ description: "Aliases that differ only in case are the same." }),
  switching: z
    .literal(true)
    .optional()
    .meta({ description: "Links are being published under aliases of the other case." }),
  apple_app_site_association: z.record(z.string(), z.unknown()).optional(),
  assetlinks: z.array(z.unknown()).optional(),
};
