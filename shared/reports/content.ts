/**
 * The content of a report, as events have it under `report`: computed once, and the same wherever
 * it is read. And the message that says it in the report's language.
 */
import * as z from "zod";

import { FAILURE_REASONS } from "../contracts/analytics.ts";
import { REPORT_LANGUAGES, REPORT_PERIODS } from "../contracts/report-schemas.ts";
import { UNKNOWN_COUNTRY } from "../countries.ts";
import { type Catalogue, inEachLanguage } from "../languages/catalogues.ts";
import { type Texts, textsOf } from "../languages/messages.ts";
import { countryName } from "../statistics/format.ts";

const count = z.int().min(0);

/** A count, that of the period before, and the change in percent: null if there was none before. */
const compared = z.object({ total: count, before: count, change: z.number().nullable() });

/** A link; `short_url` is null when it has been deleted, `title` also when it has none. */
const namedLink = z.object({
  link_id: z.string(),
  short_url: z.string().nullable(),
  title: z.string().nullable(),
});

export const reportContent = z.object({
  /** The public id and the name of the report. */
  id: z.string(),
  name: z.string(),
  /** Its subject; the account and mode if both are null. */
  tag: z.string().nullable(),
  link: namedLink.nullable(),
  period: z.enum(REPORT_PERIODS),
  /** The period in local days, both included, and as instants; `to` is exclusive. */
  first_day: z.iso.date(),
  last_day: z.iso.date(),
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  timezone: z.string(),
  language: z.enum(REPORT_LANGUAGES),
  clicks: compared,
  unique_clicks: compared,
  bot_clicks: count,
  /** The links with the most clicks; empty when it is about one link. */
  top_links: z.array(namedLink.extend({ clicks: count })),
  /** The countries (ISO 3166-1, `ZZ` where it is unknown) with the most clicks. */
  countries: z.array(z.object({ country: z.string(), clicks: count })),
  /** The referrers with the most clicks: registrable domains, or `direct`. */
  referrers: z.array(z.object({ referrer: z.string(), clicks: count })),
  /** Requests that were not redirected, by reason; null where that is not known, as for tags. */
  failures: z
    .object({
      total: count,
      unknown_alias: count,
      expired: count,
      limit_reached: count,
      wrong_password: count,
      disabled: count,
      not_started: count,
    })
    .nullable(),
});

export type ReportContent = z.output<typeof reportContent>;

/** An entry of a list: a name, what it links to, and a number as text. */
export type MessageRow = { name: string; url: string | null; number: string };

export type ReportMessage = {
  /** `Monday numbers: 23 February – 1 March 2026` */
  title: string;
  /** Its subject: a sentence without a full stop. */
  subject: string;
  totals: { label: string; text: string }[];
  lists: { title: string; rows: MessageRow[] }[];
  /** A note on how to read it. */
  note: string;
  /** Texts of mails: why somebody gets it, and the words of the link that ends that. */
  mail: { reason: string; unsubscribe: string };
};

class ReportLanguage {
  readonly code: string;
  readonly texts: Texts<Catalogue["reports"]>;
  readonly #number: Intl.NumberFormat;
  readonly #change: Intl.NumberFormat;
  readonly #days: Intl.DateTimeFormat;

  constructor(code: string, { reports }: Catalogue) {
    this.code = code;
    this.texts = textsOf(code, reports);
    this.#number = new Intl.NumberFormat(code);
    this.#change = new Intl.NumberFormat(code, {
      signDisplay: "exceptZero",
      maximumFractionDigits: 1,
    });
    this.#days = new Intl.DateTimeFormat(code, { dateStyle: "long", timeZone: "UTC" });
  }

  formatNumber(value: number): string {
    return this.#number.format(value);
  }

  formatChange(value: number): string {
    return this.#change.format(value);
  }

  /** Both days are included. */
  formatDays(first: string, last: string): string {
    return this.#days.formatRange(new Date(`${first}T00:00:00Z`), new Date(`${last}T00:00:00Z`));
  }
}

const languageOf = inEachLanguage((code, catalogue) => new ReportLanguage(code, catalogue));

/** Describes a report in its language. Texts of the account are in it as they are. */
export function describeReport(content: ReportContent): ReportMessage {
  const language = languageOf(content.language);
  const { texts } = language;
  const days = language.formatDays(content.first_day, content.last_day);
  return {
    title: texts.title({ name: content.name, days }),
    subject: describeSubject(language, content),
    totals: [
      { label: texts.clicks(), text: describeTotal(language, content.clicks) },
      { label: texts.visitors(), text: describeTotal(language, content.unique_clicks) },
      { label: texts.bots(), text: language.formatNumber(content.bot_clicks) },
    ],
    lists: listAll(language, content).filter(({ rows }) => rows.length > 0),
    note: texts.times({ timezone: content.timezone }),
    mail: { reason: texts.mail.reason(), unsubscribe: texts.mail.unsubscribe() },
  };
}

function describeSubject({ texts }: ReportLanguage, { tag, link }: ReportContent): string {
  if (tag !== null) return texts.tagged({ tag });
  return link === null
    ? texts.everything()
    : texts.link({ link: link.title ?? link.short_url ?? texts.deleted() });
}

function describeTotal(
  language: ReportLanguage,
  { total, before, change }: ReportContent["clicks"],
): string {
  const { texts } = language;
  if (total === before) return texts.unchanged({ total });
  if (change === null) return texts.none_before({ total });
  return texts.changed({ total, before, change: language.formatChange(change) });
}

function listAll(language: ReportLanguage, content: ReportContent) {
  const { texts, code } = language;
  const row = (name: string, count: number, url: string | null = null): MessageRow => ({
    name,
    url,
    number: language.formatNumber(count),
  });
  return [
    {
      title: texts.top_links(),
      rows: content.top_links.map(({ title, short_url, clicks }) =>
        row(title ?? short_url ?? texts.deleted(), clicks, short_url),
      ),
    },
    {
      title: texts.countries(),
      rows: content.countries.map(({ country, clicks }) =>
        row(country === UNKNOWN_COUNTRY ? texts.unknown() : countryName(country, code), clicks),
      ),
    },
    {
      title: texts.referrers(),
      rows: content.referrers.map(({ referrer, clicks }) =>
        row(referrer === "direct" ? texts.direct() : referrer, clicks),
      ),
    },
    { title: texts.failures(), rows: listFailures(language, content.failures) },
  ];
}

const listFailures = (
  language: ReportLanguage,
  failures: ReportContent["failures"],
): MessageRow[] =>
  failures === null
    ? []
    : FAILURE_REASONS.filter((reason) => failures[reason] > 0).map((reason) => ({
        name: language.texts.reasons[reason](),
        url: null,
        number: language.formatNumber(failures[reason]),
      }));
