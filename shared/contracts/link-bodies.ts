/** What is said of a link when it is made or changed: the same in the dashboard's forms and in the API. */
import * as z from "zod";

import { plainText } from "./text.ts";

/** The most tags of one link. */
const TAGS_MAX = 20;

const utmValue = (name: string) =>
  plainText(255)
    .nullish()
    .meta({ description: `Set as \`${name}\` on the destination's query when it redirects.` });

const tag = plainText(50).trim().min(1);

/** What may be said of a link when it is made and when it is changed. */
const optionalFields = {
  title: plainText(255).nullish(),
  expires_at: z.iso
    .datetime({ offset: true })
    .nullish()
    .meta({
      description: "In the future; null for no expiry.",
      examples: ["2030-01-01T00:00:00Z"],
    }),
  password: z
    .string()
    .min(1)
    .max(128)
    .nullish()
    .meta({ description: "What visitors are asked for; null for none. Never returned." }),
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
    .meta({ description: "Words to find the link by, in place of those it had." }),
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

/** What a change may hold: what is left out stays as it is, null removes. */
export const updateLinkBody = z
  .strictObject({ url: url.optional(), alias: alias.optional(), ...optionalFields })
  .meta({ id: "LinkChange" });
