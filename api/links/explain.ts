/** Explains where a request for a link would be redirected, using the redirector's own decision. */
import * as z from "zod";

import { truncateBytes } from "../../shared/bytes.ts";
import { CLICK_TEXT_BYTES_MAX } from "../../shared/contracts/click-text.ts";
import { component, strictComponent } from "../../shared/contracts/components.ts";
import { RULE_ID } from "../../shared/contracts/examples.ts";
import { targetFields } from "../../shared/contracts/link-fields.ts";
import { exactText, instant } from "../../shared/contracts/text-schemas.ts";
import { findCountryProblem } from "../../shared/countries.ts";
import { CachedFacts, type RequestFacts, toAgentNames } from "../../shared/decision/facts.ts";
import { preferredLanguage } from "../../shared/decision/language.ts";
import { type Target, Targets } from "../../shared/decision/targets.ts";
import { encodeId } from "../../shared/ids.ts";
import { TimeSlice } from "../../shared/time-slice.ts";
import { isPreviewAgent } from "../../shared/visitors/automation.ts";
import { sourceOf } from "../../shared/visitors/referrer.ts";
import { parseAgent } from "../../shared/visitors/user-agent.ts";
import { choice, flag, items, text, textOrNull } from "../http/common-schemas.ts";
import type { LinkRow } from "./model.ts";
import { toRecord } from "./record.ts";
import { statusOf } from "./settings.ts";

/** Maximum characters of a header and of a query, as in a request head. */
const HEADER_LENGTH_MAX = 8_192;

const header = (description: string, example: string) =>
  exactText(HEADER_LENGTH_MAX)
    .optional()
    .meta({ description, examples: [example] });

/** A request to explain; omitted fields are absent from the explained request. */
export const explainBody = strictComponent(
  "LinkRequest",
  "A request to explain; it lacks what is omitted.",
  {
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
    continent: choice(
      "The continent of the address.",
      ["AF", "AN", "AS", "EU", "NA", "OC", "SA"],
      "EU",
    ).optional(),
    language: header("The header `Accept-Language`.", "de-AT,de;q=0.9,en;q=0.8"),
    referrer: header("The header `Referer`.", "https://news.example.com/article"),
    query: header("The short URL's query, without `?`.", "utm_source=mail"),
    at: instant.optional().meta({
      description: "The instant of the request; now when left out.",
      examples: ["2030-01-01T08:00:00Z"],
    }),
  },
);

export type ExplainBody = z.output<typeof explainBody>;

const url = text(
  "The destination, before the short URL's query is forwarded.",
  "https://apps.apple.com/app/id1",
);

const matched = flag("Whether it matches.", true);

export const explanation = component("LinkExplanation", "Where a request is redirected, and why.", {
  status: text("The link's status at that time; only an `active` link redirects.", "active"),
  requires_password: flag("Whether the visitor must enter a password first.", false),
  preview: flag(
    "Whether the request gets the link's card instead of a redirect, as those of link-preview agents do.",
    false,
  ),
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
  rules: items(
    "The rules in order, up to the first that matches.",
    z.object({
      id: text("The rule's id, by which its clicks are counted.", RULE_ID),
      url,
      matched,
      conditions: items(
        "The conditions of the rule, and which of them match.",
        z.object({
          type: text("The property of the request that the condition checks.", "os"),
          matched,
          actual: textOrNull(
            "The request's value, shortened to 255 characters; null when it is unknown.",
            "iOS",
          ),
        }),
      ),
    }),
  ),
});

export type Explanation = z.output<typeof explanation>;

/**
 * Explains a request for a link, in turns of the event loop. `ownHosts` are those of the service's
 * own short domain.
 */
export async function explainRequest(
  link: LinkRow,
  body: ExplainBody,
  ownHosts: ReadonlySet<string>,
  slice = new TimeSlice(),
): Promise<Explanation> {
  const now = body.at === undefined ? Date.now() : Date.parse(body.at);
  const record = toRecord(link);
  const targets = new Targets(record.extras ?? {});
  const facts = toFacts(body, now, link.domain_host ?? "", ownHosts);
  const status = statusOf(link, now);
  const chosen = targets.choose(facts);
  const rules: Explanation["rules"] = [];
  for (const { id, ...explained } of targets.explain(facts)) {
    rules.push({ id: encodeId("rule", id), ...explained });
    if (slice.isOver()) await slice.next();
  }
  return {
    status,
    requires_password: link.password_hash !== null,
    preview:
      status === "active" &&
      record.extras?.preview !== undefined &&
      link.password_hash === null &&
      isPreviewAgent(facts.userAgent()),
    target: status === "active" ? toTarget(chosen, record.destination) : null,
    rules,
  };
}

const toTarget = (chosen: Target | undefined, own: string): Explanation["target"] =>
  chosen === undefined
    ? { kind: "default", id: null, url: own }
    : { ...chosen, id: encodeId(chosen.kind, chosen.id) };

function toFacts(
  {
    user_agent = "",
    ip = "",
    country,
    continent,
    language = "",
    referrer = "",
    query = "",
  }: ExplainBody,
  now: number,
  host: string,
  ownHosts: ReadonlySet<string>,
): RequestFacts {
  const known = country !== undefined || continent !== undefined;
  return new CachedFacts({
    now: () => now,
    address: () => ip,
    location: () =>
      known ? { country: country?.toUpperCase() ?? "ZZ", continent: continent ?? "" } : undefined,
    // The same bytes that the redirector reads and a click stores.
    userAgent: () =>
      Buffer.from(truncateBytes(user_agent, CLICK_TEXT_BYTES_MAX.userAgent)).toString("latin1"),
    agent: () =>
      toAgentNames(parseAgent(truncateBytes(user_agent, CLICK_TEXT_BYTES_MAX.userAgent))),
    language: () => preferredLanguage(language),
    source: () => sourceOf(truncateBytes(referrer, CLICK_TEXT_BYTES_MAX.referrer), host, ownHosts),
    query: () => query,
  });
}
