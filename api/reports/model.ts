/** Schemas of reports, the rows they come from, and when a report is due. */
import * as z from "zod";

import { component, strictComponent } from "../../shared/contracts/components.ts";
import {
  CREATED_AT,
  EVENT_ID,
  LINK_ID,
  REPORT_ID,
  SHORT_URL,
  TIME_ZONE,
} from "../../shared/contracts/examples.ts";
import type { Mode } from "../../shared/contracts/link-record.ts";
import { tag } from "../../shared/contracts/link-schemas.ts";
import {
  DEFAULT_HOUR,
  REPORT_LANGUAGES,
  REPORT_PERIODS,
  reportHour,
  type ReportLanguage,
  reportName,
  type ReportPeriod,
} from "../../shared/contracts/report-schemas.ts";
import { email } from "../../shared/contracts/users.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { describeReport, type ReportContent } from "../../shared/reports/content.ts";
import { localDate, timezoneField } from "../analytics/period.ts";
import {
  choice,
  count,
  createdAt,
  flag,
  idInPath,
  instantOrNull,
  items,
  text,
  textOrNull,
  updatedAt,
} from "../http/common-schemas.ts";
import { listOf } from "../http/pagination.ts";
import { shortUrlText } from "../links/model.ts";
import { buildShortUrl } from "../links/short-url.ts";

/** The longest id of a link is shorter. */
const ID_LENGTH_MAX = 40;

export const reportParams = z.object({ id: idInPath("rpt", "The report's id.", REPORT_ID) });

/** Maximum recipients of a report. */
const RECIPIENTS_MAX = 20;

const META = {
  name: { description: "The report's name.", examples: ["Weekly numbers"] },
  tag: {
    description: "Only clicks of links that have this tag when the report is made; null for all.",
    examples: ["spring"],
  },
  link_id: {
    description: "Only clicks of this link; null for all. Not together with `tag`.",
    examples: [LINK_ID],
  },
  short_url: {
    description: "The short URL of that link, in place of its id.",
    examples: [SHORT_URL],
  },
  period: {
    description:
      "`weekly`, from Monday to Sunday, made on Mondays; `monthly`, made on the first of the month.",
    examples: ["weekly"],
  },
  hour: {
    description: "The hour in `timezone`, ten minutes after which the report is made.",
    examples: [8],
  },
  timezone: {
    description: "The IANA time zone whose days and hours count.",
    examples: [TIME_ZONE],
  },
  language: { description: "The language of messages and mails.", examples: ["en"] },
  emails: {
    description: "Who gets it by e-mail: confirmed addresses of members of the account.",
    examples: [["ada@example.com"]],
  },
};

const fields = {
  name: reportName.meta(META.name),
  tag: tag.nullish().meta(META.tag),
  link_id: z.string().max(ID_LENGTH_MAX).nullish().meta(META.link_id),
  short_url: shortUrlText.nullish().meta(META.short_url),
  period: z.enum(REPORT_PERIODS).meta(META.period),
  hour: reportHour.optional().meta({
    ...META.hour,
    description: `${META.hour.description} ${DEFAULT_HOUR} when left out.`,
  }),
  timezone: timezoneField.meta({
    ...META.timezone,
    description: `${META.timezone.description} \`UTC\` when left out.`,
  }),
  language: z
    .enum(REPORT_LANGUAGES)
    .optional()
    .meta({ ...META.language, description: `${META.language.description} \`en\` when left out.` }),
  emails: z.array(email).max(RECIPIENTS_MAX).optional().meta(META.emails),
};

export const newReportBody = strictComponent("NewReport", "A report to create.", fields);

export type NewReportBody = z.output<typeof newReportBody>;

export const updateReportBody = strictComponent(
  "ReportChange",
  "The fields of a report to change. Omitted fields keep their value; null removes a value.",
  {
    name: fields.name.optional(),
    tag: fields.tag,
    link_id: fields.link_id,
    short_url: fields.short_url,
    period: fields.period.optional(),
    hour: reportHour.optional().meta(META.hour),
    timezone: timezoneField.meta(META.timezone),
    language: z.enum(REPORT_LANGUAGES).optional().meta(META.language),
    emails: fields.emails,
    status: choice("`paused` to make none for now.", ["active", "paused"], "paused").optional(),
  },
);

export type UpdateReportBody = z.output<typeof updateReportBody>;

export const reportResponse = component("Report", "Statistics that are sent regularly.", {
  id: text("The report's id.", REPORT_ID),
  name: z.string().meta(META.name),
  tag: z.string().nullable().meta(META.tag),
  link_id: z.string().nullable().meta(META.link_id),
  short_url: z
    .string()
    .nullable()
    .meta({ ...META.short_url, description: "The short URL of that link; null without one." }),
  period: z.enum(REPORT_PERIODS).meta(META.period),
  hour: z.int().meta(META.hour),
  timezone: z.string().meta(META.timezone),
  language: z.enum(REPORT_LANGUAGES).meta(META.language),
  emails: z.array(z.string()).meta(META.emails),
  status: choice(
    "`paused` by somebody, or because its link has been deleted.",
    ["active", "paused"],
    "active",
  ),
  next_run_at: instantOrNull("When it is made next; null while it is paused.", CREATED_AT),
  created_at: createdAt,
  updated_at: updatedAt,
});

export const reportListResponse = listOf("ReportList", "A page of reports.", reportResponse);

const day = (description: string, example: string) =>
  z.iso.date().meta({ description, examples: [example] });

const reportMessage = z
  .object({
    title: text("The report's name and its days.", "Monday numbers: February 23 – March 1, 2026"),
    subject: text("What it is about.", "All links"),
    totals: items(
      "The counts of the period.",
      z.object({
        label: text("What is counted.", "Clicks"),
        text: text("The count, and that of the period before.", "312 (+4 %, 300 before)"),
      }),
    ),
    lists: items(
      "The lists that have entries.",
      z.object({
        title: text("What is listed.", "Countries"),
        rows: items(
          "The entries with the highest counts.",
          z.object({
            name: text("The name of an entry.", "Germany"),
            url: textOrNull("What it links to; null for nothing.", null),
            number: text("Its count.", "1,200"),
          }),
        ),
      }),
    ),
    note: text("How to read it.", "Days of Europe/Berlin. Clicks by people only."),
  })
  .meta({ description: "What the report says, in its language, as mails have it." });

export const runResponse = component("ReportRun", "A report of a period.", {
  event_id: text("The id of the event `report.ready` that has what the report says.", EVENT_ID),
  first_day: day("The first day of the period.", "2026-02-23"),
  last_day: day("The last day of the period.", "2026-03-01"),
  requested: flag("Whether somebody has requested it; else it was made when it was due.", false),
  clicks: count("Clicks by people in the period.", 312),
  unique_clicks: count("Their distinct visitors.", 187),
  mails: z
    .object({
      waiting: count("Not sent yet.", 0),
      sent: count("Accepted by the mail server.", 2),
      failed: count("Refused for good, or for a day.", 0),
      unknown: count("Sent without a response: they may have arrived.", 0),
    })
    .meta({ description: "The mails to its recipients, by what came of them." }),
  message: reportMessage,
  created_at: createdAt,
});

export const runListResponse = component("ReportRunList", "What a report has been made of.", {
  data: items("Newest first: at most 20.", runResponse),
});

/** The fields of a report that its owner decides. */
export type ReportFields = Schedule & {
  name: string;
  tag: string | null;
  link_id: Uuid | null;
  language: ReportLanguage;
};

/** A report as PostgreSQL stores it. */
export type ReportRow = ReportFields & {
  id: Uuid;
  account_id: Uuid;
  plan: string;
  mode: Mode;
  /** Alias and domain of its link; null for none, and the domain for the service's own. */
  link_alias: string | null;
  link_host: string | null;
  /** The addresses of its recipients, in their order. */
  emails: string[];
  status: "active" | "paused";
  due_at: Date;
  created_at: Date;
  updated_at: Date;
};

/** One of those who get a report by e-mail. */
export type Recipient = { reportId: Uuid; userId: Uuid };

export const toReportResponse = (
  row: ReportRow,
  shortUrl: string,
): z.output<typeof reportResponse> => ({
  id: encodeId("rpt", row.id),
  name: row.name,
  tag: row.tag,
  link_id: row.link_id === null ? null : encodeId("link", row.link_id),
  short_url:
    row.link_alias === null
      ? null
      : buildShortUrl({ alias: row.link_alias, domain_host: row.link_host }, shortUrl),
  period: row.period,
  hour: row.hour,
  timezone: row.timezone,
  language: row.language,
  emails: row.emails,
  status: row.status,
  next_run_at: row.status === "active" ? row.due_at.toISOString() : null,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
});

/** A run as PostgreSQL stores it; days as text. */
export type RunRow = {
  id: Uuid;
  first_day: string;
  last_day: string;
  requested: boolean;
  content: ReportContent;
  mails: { waiting: number; sent: number; failed: number; unknown: number };
  created_at: Date;
};

export const toRunResponse = ({ id, content, created_at, ...row }: RunRow) => ({
  event_id: encodeId("event", id),
  first_day: row.first_day,
  last_day: row.last_day,
  requested: row.requested,
  clicks: content.clicks.total,
  unique_clicks: content.unique_clicks.total,
  mails: row.mails,
  message: toMessage(content),
  created_at: created_at.toISOString(),
});

/** The message of a report, without the texts of its mails. */
function toMessage(content: ReportContent): z.output<typeof reportMessage> {
  const { mail: _mail, ...message } = describeReport(content);
  return message;
}

// When reports are made, and of which period: on Mondays or the first of months, at an hour of the
// report's time zone. All instants are Unix milliseconds.

export type Schedule = { period: ReportPeriod; hour: number; timezone: string };

/** Local days, both included, and the instants from the first to after the last. */
export type ReportedPeriod = { first_day: string; last_day: string; from: number; to: number };

/** Reports are made after the hour: by then the last clicks of the period have been stored. */
const MINUTES_PAST_HOUR = 10;

type Day = Temporal.PlainDate;

/** The last period that is over at `now`. */
export function lastPeriod({ period, timezone: zone }: Schedule, now: number): ReportedPeriod {
  const end = startOf(period, localDate(now, zone));
  const first = before(period, end);
  return {
    first_day: first.toString(),
    last_day: end.subtract({ days: 1 }).toString(),
    from: first.toZonedDateTime(zone).epochMilliseconds,
    to: end.toZonedDateTime(zone).epochMilliseconds,
  };
}

/** When a report is due next after `now`. */
export function nextDue({ period, hour, timezone: zone }: Schedule, now: number): number {
  const plainTime = { hour, minute: MINUTES_PAST_HOUR };
  const dueOn = (day: Day): number =>
    // An hour that the clocks leave out is the one after it; of one that comes twice, the first.
    day.toZonedDateTime({ timeZone: zone, plainTime }).epochMilliseconds;
  let day = startOf(period, localDate(now, zone));
  while (dueOn(day) <= now) day = day.add(period === "weekly" ? { weeks: 1 } : { months: 1 });
  return dueOn(day);
}

/** The Monday or the first of the month that a day belongs to. */
const startOf = (period: ReportPeriod, day: Day): Day =>
  period === "weekly" ? day.subtract({ days: day.dayOfWeek - 1 }) : day.with({ day: 1 });

const before = (period: ReportPeriod, day: Day): Day =>
  day.subtract(period === "weekly" ? { weeks: 1 } : { months: 1 });
