/** What a report says in its language, before it becomes a message of a chat or a mail. */
import { FAILURE_REASONS } from "../contracts/failure-reasons.ts";
import { UNKNOWN_COUNTRY } from "../countries.ts";
import { type Catalogue, inEachLanguage } from "../languages/catalogues.ts";
import { createTexts } from "../languages/messages.ts";
import { countryName } from "../statistics/format.ts";
import type { ReportContent } from "./content.ts";

/** An entry of a list: a name, what it links to, and a number as text. */
export type MessageRow = { name: string; url: string | null; number: string };

export type ReportMessage = {
  /** `Monday numbers: 23 February – 1 March 2026` */
  title: string;
  /** What it is about: a sentence without a full stop. */
  subject: string;
  totals: { label: string; text: string }[];
  /** Lists that have entries. */
  lists: { title: string; rows: MessageRow[] }[];
  /** How to read it. */
  note: string;
  /** What a mail adds: why somebody gets it, and the words of the link that ends that. */
  mail: { reason: string; unsubscribe: string };
};

type Language = ReturnType<typeof createLanguage>;

function createLanguage(code: string, { reports }: Catalogue) {
  const number = new Intl.NumberFormat(code);
  const change = new Intl.NumberFormat(code, {
    signDisplay: "exceptZero",
    maximumFractionDigits: 1,
  });
  const days = new Intl.DateTimeFormat(code, { dateStyle: "long", timeZone: "UTC" });
  return {
    code,
    texts: createTexts(code, reports),
    formatNumber: (value: number) => number.format(value),
    formatChange: (value: number) => change.format(value),
    /** Both days are included. */
    formatDays: (first: string, last: string) =>
      days.formatRange(new Date(`${first}T00:00:00Z`), new Date(`${last}T00:00:00Z`)),
  };
}

const languageOf = inEachLanguage(createLanguage);

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

function describeSubject({ texts }: Language, { tag, link }: ReportContent): string {
  if (tag !== null) return texts.tagged({ tag });
  return link === null
    ? texts.everything()
    : texts.link({ link: link.title ?? link.short_url ?? texts.deleted() });
}

function describeTotal(
  { texts, formatChange }: Language,
  { total, before, change }: ReportContent["clicks"],
): string {
  if (total === before) return texts.unchanged({ total });
  if (change === null) return texts.none_before({ total });
  return texts.changed({ total, before, change: formatChange(change) });
}

function listAll(language: Language, content: ReportContent) {
  const { texts, code, formatNumber } = language;
  const row = (name: string, count: number, url: string | null = null): MessageRow => ({
    name,
    url,
    number: formatNumber(count),
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
  { texts, formatNumber }: Language,
  failures: ReportContent["failures"],
): MessageRow[] =>
  failures === null
    ? []
    : FAILURE_REASONS.filter((reason) => failures[reason] > 0).map((reason) => ({
        name: texts.reasons[reason](),
        url: null,
        number: formatNumber(failures[reason]),
      }));
