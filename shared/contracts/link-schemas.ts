/** Schemas of requests that create or update links, shared by the API and the dashboard's forms. */
import * as z from "zod";

import { instant } from "./instant.ts";
import { settingsFields } from "./link-settings.ts";
import { plainText } from "./text.ts";

/** Most links that one bulk request creates. */
export const BULK_LINKS_MAX = 100;

/**
 * Most links with a password in one bulk request. One hash takes 60 ms of a core, so a request takes at most 0.6 s.
 */
export const BULK_PASSWORDS_MAX = 10;

/** Most tags of a link, and characters of a tag. */
export const TAGS_MAX = 20;
export const TAG_LENGTH_MAX = 50;

/** Most characters of a title and of a UTM value. */
const TITLE_LENGTH_MAX = 255;
const UTM_LENGTH_MAX = 255;

/** Most characters of a link's password, to bound the time to hash it. */
const LINK_PASSWORD_LENGTH_MAX = 128;

/** Most characters of an external id, which a client assigns to a link. */
export const EXTERNAL_ID_LENGTH_MAX = 255;

/** An external id. */
export const externalId = plainText(EXTERNAL_ID_LENGTH_MAX).min(1);

const utmValue = (name: string) =>
  plainText(UTM_LENGTH_MAX)
    .nullish()
    .meta({ description: `Set as \`${name}\` on the destination's query when it redirects.` });

export const tag = plainText(TAG_LENGTH_MAX).trim().min(1);

/** Fields that are optional both in creating and in updating a link. */
const optionalFields = {
  title: plainText(TITLE_LENGTH_MAX).nullish(),
  expires_at: instant.nullish().meta({
    description: "In the future; null for no expiry.",
    examples: ["2030-01-01T00:00:00Z"],
  }),
  password: z
    .string()
    .min(1)
    .max(LINK_PASSWORD_LENGTH_MAX)
    .nullish()
    .meta({ description: "The password that visitors must enter; null for none. Never returned." }),
  utm_source: utmValue("utm_source"),
  utm_medium: utmValue("utm_medium"),
  utm_campaign: utmValue("utm_campaign"),
  utm_term: utmValue("utm_term"),
  utm_content: utmValue("utm_content"),
  forward_query: z
    .boolean()
    .optional()
    .meta({ description: "Whether the short URL's own query is passed on to the destination." }),
  tags: z
    .array(tag)
    .max(TAGS_MAX)
    .transform((tags) => [...new Set(tags)])
    .optional()
    .meta({ description: "Labels to filter links by; they replace all previous ones." }),
  external_id: externalId
    .nullish()
    .meta({ description: "Your own id of the link, unique in the account and mode." }),
  ...settingsFields,
};

const url = z.string().meta({
  description: "The destination: an absolute http or https URL.",
  examples: ["https://example.com/a/long/path?with=query"],
});

const alias = z.string().meta({
  description: "1 to 64 characters of A–Z, a–z, 0–9, _ and -, not starting with -.",
  examples: ["summer-sale"],
});

export const createLinkBody = z
  .strictObject({
    url,
    alias: alias.nullish(),
    domain: z
      .string()
      .nullish()
      .meta({ description: "A verified domain of the account; the service's own when left out." }),
    ...optionalFields,
  })
  .meta({ id: "NewLink" });

/** An update: omitted fields stay unchanged, null removes a value. */
export const updateLinkBody = z
  .strictObject({ url: url.optional(), alias: alias.optional(), ...optionalFields })
  .meta({ id: "LinkChange" });

/** The body that creates or updates the link with an external id, which is in the path. */
export const upsertLinkBody = createLinkBody.omit({ external_id: true }).meta({ id: "LinkUpsert" });
