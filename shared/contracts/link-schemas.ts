/** Schemas of requests that create or update links, shared by the API and the dashboard's forms. */
import * as z from "zod";

import { ALIAS_LENGTH_MAX, normalizeAlias } from "./alias.ts";
import { ofEachUtm, type UtmName } from "./analytics.ts";
import { CUSTOM_DOMAIN, EXPIRES_AT, LONG_URL } from "./examples.ts";
import {
  destination,
  EXTERNAL_ID_EXAMPLE,
  notesMeta,
  TAGS_EXAMPLE,
  titleMeta,
  UTM_EXAMPLES,
} from "./link-fields.ts";
import { settingFlag, settingsFields } from "./link-settings.ts";
import { exactText, instant, linesOfText, nameInPath, plainText } from "./text-schemas.ts";
import { trimInvisible } from "./text.ts";

/** Maximum links that one bulk request creates. */
export const BULK_LINKS_MAX = 100;

/**
 * Maximum links with a password in one bulk request. One hash takes 60 ms of a core, so a request
 * takes at most 0.6 s.
 */
export const BULK_PASSWORDS_MAX = 10;

/** Maximum tags of a link, and characters of a tag. */
export const TAGS_MAX = 20;
export const TAG_LENGTH_MAX = 50;

/** Maximum characters of a title and of a UTM value. */
export const TITLE_LENGTH_MAX = 255;
const UTM_LENGTH_MAX = 255;

/** Maximum characters of notes: all of them are searched. */
const NOTES_LENGTH_MAX = 1_000;

/** Maximum characters of a link's password, to bound the time to hash it. */
const LINK_PASSWORD_LENGTH_MAX = 128;

/** Maximum characters of an external id, which a client assigns to a link. */
export const EXTERNAL_ID_LENGTH_MAX = 255;

export const externalId = nameInPath(exactText(EXTERNAL_ID_LENGTH_MAX));

const utmValue = (name: UtmName) =>
  plainText(UTM_LENGTH_MAX)
    .overwrite(trimInvisible)
    .nullable()
    // Before the transformation, because the input is documented.
    .meta({
      description: `Set as \`${name}\` in the destination's query. Blanks are as if it was not sent; null removes it.`,
      examples: [UTM_EXAMPLES[name]],
    })
    .transform((value) => (value === "" ? undefined : value))
    .optional();

export const tag = nameInPath(plainText(TAG_LENGTH_MAX).overwrite(trimInvisible));

/** A text in which nobody sees anything is none. */
const blankToNull = (text: string | null): string | null =>
  text === null || trimInvisible(text) === "" ? null : text;

/** Fields that are optional both in creating and in updating a link. */
const optionalFields = {
  title: plainText(TITLE_LENGTH_MAX)
    .nullable()
    // Before the transformation, because the input is documented.
    .meta(titleMeta)
    .transform(blankToNull)
    .optional(),
  notes: linesOfText(NOTES_LENGTH_MAX)
    .nullable()
    // Before the transformation, because the input is documented.
    .meta(notesMeta)
    .transform(blankToNull)
    .optional(),
  expires_at: instant.nullish().meta({
    description: "In the future; null for no expiry.",
    examples: [EXPIRES_AT],
  }),
  password: z
    .string()
    .min(1)
    .max(LINK_PASSWORD_LENGTH_MAX)
    .nullish()
    .meta({
      description: "The password that visitors must enter; null for none. Never returned.",
      examples: ["correct horse battery"],
    }),
  ...ofEachUtm(utmValue),
  forward_query: settingFlag({
    description: "Whether the short URL's query is passed on to the destination.",
    examples: [true],
  }),
  tags: z
    .array(tag)
    .max(TAGS_MAX)
    .nullable()
    // Before the transformation, because the input is documented.
    .meta({
      description: "Labels to filter links by; they replace all previous ones. Null for none.",
      examples: [TAGS_EXAMPLE],
    })
    .transform((tags) => [...new Set(tags)])
    .optional(),
  external_id: externalId.nullish().meta({
    description: "Your own id for the link, unique in the account and mode.",
    examples: [EXTERNAL_ID_EXAMPLE],
  }),
  ...settingsFields,
};

/** The path of a short URL. `aliasProblem` checks it, because the error is `invalid_alias`. */
const alias = z.string().overwrite(normalizeAlias).meta({
  description:
    "1 to 64 letters, marks, digits and emoji of every script, and characters of `-._~`, in segments separated by `/`. It does not start with `-`, and no segment ends with a dot. It is stored in Unicode's composed form (NFC). A few words are reserved as the first segment, most of them on the service's own domain only.",
  maxLength: ALIAS_LENGTH_MAX,
  // As far as all tools understand it: the characters of ASCII, and any beyond.
  pattern: "^[^\\x00-\\-/:-@\\[-\\^`{-}\\x7f][^\\x00-,:-@\\[-\\^`{-}\\x7f]*$",
});

export const newLinkBody = z
  .strictObject({
    url: destination,
    alias: alias.nullish().meta({ examples: ["spring-sale"] }),
    domain: z
      .string()
      .nullish()
      .meta({
        description: "A verified domain of the account; the service's own when left out.",
        examples: [CUSTOM_DOMAIN],
        maxLength: 253,
      }),
    ...optionalFields,
  })
  .meta({
    id: "NewLink",
    description: "A link to create; only `url` is required.",
    examples: [
      {
        url: LONG_URL,
        alias: "spring-sale",
        title: "Spring sale",
        tags: TAGS_EXAMPLE,
        utm_source: UTM_EXAMPLES.utm_source,
      },
    ],
  });

/** An update: omitted fields stay unchanged, null removes a value. */
export const updateLinkBody = z
  .strictObject({
    url: destination.optional(),
    alias: alias.optional().meta({ examples: ["spring-sale-2"] }),
    ...optionalFields,
  })
  .meta({
    id: "LinkChange",
    description:
      "The fields of a link to change. Omitted fields keep their value; null removes a value.",
    examples: [{ title: "Spring sale, extended", expires_at: "2030-01-01T00:00:00Z" }],
  });

/** The body that creates or updates the link with an external id, which is in the path. */
export const upsertLinkBody = newLinkBody.omit({ external_id: true }).meta({
  id: "LinkUpsert",
  description: "A link to create or change, identified by your own id.",
  examples: [{ url: LONG_URL, title: "Spring sale" }],
});
