/** Schemas of explanations: where a request for a link would be redirected, and why. */
import * as z from "zod";

import { RULE_ID } from "../../../shared/contracts/examples.ts";
import { targetFields } from "../../../shared/contracts/link-fields.ts";
import { instant, plainText } from "../../../shared/contracts/text.ts";
import { findCountryProblem } from "../../../shared/countries.ts";

/** Maximum characters of a header and of a query, as in a request head. */
const HEADER_LENGTH_MAX = 8_192;

const header = (description: string, example: string) =>
  plainText(HEADER_LENGTH_MAX)
    .optional()
    .meta({ description, examples: [example] });

/** A request to explain; omitted fields are absent from the explained request. */
export const explainBody = z
  .strictObject({
    user_agent: header(
      "The header `User-Agent`.",
      "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15",
    ),
    ip: z
      .union([z.ipv4(), z.ipv6()], { error: "expected an IP address" })
      .optional()
      .meta({ description: "The visitor's address.", examples: ["203.0.113.7"] }),
    country: z
      .string()
      .regex(/^[A-Za-z]{2}$/, "expected an ISO 3166-1 code of two letters")
      .refine((code) => findCountryProblem(code.toUpperCase()) === undefined, {
        error: ({ input }) => findCountryProblem(String(input).toUpperCase()),
      })
      .optional()
      .meta({
        description: "The country of the address; when left out, rules by country do not match.",
        examples: ["DE"],
      }),
    continent: z
      .enum(["AF", "AN", "AS", "EU", "NA", "OC", "SA"])
      .optional()
      .meta({ description: "The continent of the address.", examples: ["EU"] }),
    language: header("The header `Accept-Language`.", "de-AT,de;q=0.9,en;q=0.8"),
    referrer: header("The header `Referer`.", "https://news.example.com/article"),
    query: header("The short URL's query, without `?`.", "utm_source=mail"),
    at: instant.optional().meta({
      description: "The instant of the request; now when left out.",
      examples: ["2030-01-01T08:00:00Z"],
    }),
  })
  .meta({
    id: "LinkRequest",
    description: "A request to explain; it lacks what is omitted.",
  });

export type ExplainBody = z.output<typeof explainBody>;

const url = z.string().meta({
  description: "The destination, before the short URL's query is forwarded.",
  examples: ["https://apps.apple.com/app/id1"],
});

const matched = z.boolean().meta({ description: "Whether it matches.", examples: [true] });

export const explanation = z
  .object({
    status: z.string().meta({
      description: "The link's status at that time; only an `active` link redirects.",
      examples: ["active"],
    }),
    requires_password: z
      .boolean()
      .meta({ description: "Whether the visitor must enter a password first.", examples: [false] }),
    preview: z.boolean().meta({
      description:
        "Whether the request gets the link's card instead of a redirect, as those of link-preview agents do.",
      examples: [false],
    }),
    target: z
      .object({
        ...targetFields,
        url,
      })
      .nullable()
      .meta({
        description: "Where the request is redirected; null when the link is not active.",
        examples: [{ kind: "default", id: null, url: "https://example.com/" }],
      }),
    rules: z
      .array(
        z.object({
          id: z.string().meta({
            description: "The rule's id, by which its clicks are counted.",
            examples: [RULE_ID],
          }),
          url,
          matched,
          conditions: z
            .array(
              z.object({
                type: z.string().meta({
                  description: "The property of the request that the condition checks.",
                  examples: ["os"],
                }),
                matched,
                actual: z
                  .string()
                  .nullable()
                  .meta({
                    description:
                      "The request's value, shortened to 255 characters; null when it is unknown.",
                    examples: ["iOS"],
                  }),
              }),
            )
            .meta({ description: "The conditions of the rule, and which of them match." }),
        }),
      )
      .meta({ description: "The rules in order, up to the first that matches." }),
  })
  .meta({ id: "LinkExplanation", description: "Where a request is redirected, and why." });

export type Explanation = z.output<typeof explanation>;
