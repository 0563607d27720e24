/** Schemas of requests and responses about shares, and the rows they come from. */
import * as z from "zod";

import { COLUMN_FILTERS } from "../../shared/contracts/analytics.ts";
import { component, strictComponent } from "../../shared/contracts/components.ts";
import {
  EXPIRES_AT,
  LINK_ID,
  SHARE_ID,
  SHARE_TOKEN,
  SHORT_URL,
  TIME_ZONE,
} from "../../shared/contracts/examples.ts";
import {
  BREAKDOWNS_MAX,
  PASSWORD_LENGTH,
  shareName,
  shareOrigin,
  sharePassword,
} from "../../shared/contracts/share-schemas.ts";
import { instant } from "../../shared/contracts/text-schemas.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import type { CountryClicks } from "../../shared/statistics/world-map.tsx";
import { boundaryProblem, periodField, timezoneField } from "../analytics/period.ts";
import { clicks, completeFromField, percentage, rangeCounts } from "../analytics/responses.ts";
import type { Brand } from "../branding/service.ts";
import {
  createdAt,
  hasPassword,
  idInPath,
  items,
  text,
  textOrNull,
  updatedAt,
} from "../http/common-schemas.ts";
import { listOf } from "../http/pagination.ts";

const EMBED_ORIGINS_MAX = 10;

/** The longest name of a time zone has about half as many characters. */
const FORM_TEXT_LENGTH_MAX = 64;

/** The dimensions that a share can show. */
const breakdowns = z
  .array(z.enum(COLUMN_FILTERS))
  .max(BREAKDOWNS_MAX)
  .refine((list) => new Set(list).size === list.length, "must not name a dimension twice");

/** Descriptions of fields that requests and responses have. */
const META = {
  link_id: { description: "The link; null for all links of the account.", examples: [LINK_ID] },
  name: { description: "The title of the page; readers see it.", examples: ["Spring campaign"] },
  breakdowns: {
    description: "The dimensions that readers see; none for sums and times only.",
    examples: [["country", "device", "referrer"]],
  },
  timezone: {
    description: "The IANA time zone whose days and hours group the clicks.",
    examples: [TIME_ZONE],
  },
  embed_origins: {
    description: "Origins whose pages may embed the page; none by default.",
    examples: [["https://www.example.com"]],
  },
  expires_at: {
    description: "When the URL expires; null for never.",
    examples: [EXPIRES_AT],
  },
};

const fields = {
  name: shareName.nullish().meta(META.name),
  breakdowns: breakdowns.optional().meta(META.breakdowns),
  timezone: timezoneField.meta(META.timezone),
  password: sharePassword.nullish().meta({
    description: "A password that readers have to enter; null for none.",
    examples: ["correct horse battery"],
  }),
  embed_origins: z.array(shareOrigin).max(EMBED_ORIGINS_MAX).optional().meta(META.embed_origins),
  expires_at: instant.nullish().meta(META.expires_at),
};

export const newShareBody = strictComponent(
  "NewShare",
  "A share to create: of one link, or of all.",
  {
    link_id: z.string().nullish().meta(META.link_id),
    ...fields,
    breakdowns: fields.breakdowns.meta({
      description: "The dimensions that readers see: country, device and referrer when left out.",
    }),
  },
);

export type NewShareBody = z.output<typeof newShareBody>;

export const updateShareBody = strictComponent(
  "ShareChange",
  "The fields of a share to change. Omitted fields keep their value; null removes a value.",
  fields,
);

export type UpdateShareBody = z.output<typeof updateShareBody>;

export const shareParams = z.object({
  id: idInPath("shr", "The share's id, not its token.", SHARE_ID),
});

export const shareResponse = component(
  "Share",
  "Statistics that people without an account can read.",
  {
    id: text("The share's id, for the paths of this API.", SHARE_ID),
    link_id: z.string().nullable().meta(META.link_id),
    name: z.string().nullable().meta(META.name),
    breakdowns: z.array(z.string()).meta(META.breakdowns),
    timezone: z.string().meta(META.timezone),
    has_password: hasPassword,
    embed_origins: z.array(z.string()).meta(META.embed_origins),
    expires_at: z.iso.datetime().nullable().meta(META.expires_at),
    created_at: createdAt,
    updated_at: updatedAt,
  },
);

export const newShareResponse = shareResponse
  .extend({
    token: text(
      "The secret part of the URL. Only this response contains it: store it now.",
      SHARE_TOKEN,
    ),
    url: text(
      "The page to share. Only this response contains it: store it now.",
      `https://api.example.com/shared/${SHARE_TOKEN}`,
    ),
  })
  .meta({ id: "ShareWithUrl", description: "A new share, with its URL." });

export const shareListResponse = listOf("ShareList", "A page of shares.", shareResponse);

/** The changeable fields of a share. */
export type ShareFields = {
  name: string | null;
  password_hash: string | null;
  breakdowns: readonly string[];
  timezone: string;
  embed_origins: readonly string[];
  expires_at: Date | null;
};

/** A share as PostgreSQL stores it. */
export type ShareRow = ShareFields & {
  id: Uuid;
  link_id: Uuid | null;
  created_at: Date;
  updated_at: Date;
};

export const toShareResponse = (row: ShareRow): z.output<typeof shareResponse> => ({
  id: encodeId("shr", row.id),
  link_id: row.link_id === null ? null : encodeId("link", row.link_id),
  name: row.name,
  breakdowns: [...row.breakdowns],
  timezone: row.timezone,
  has_password: row.password_hash !== null,
  embed_origins: [...row.embed_origins],
  expires_at: row.expires_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
});

/** Whole days only: the clicks of a moment would show single people. */
const date = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/, "must be a date such as 2026-01-31")
  .superRefine((text, context) => {
    const problem = boundaryProblem(text);
    if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
  })
  .meta({ maxLength: 10 })
  .optional();

/** When, but no filters: a reader sees the owner's selection of what is known of the clicks. */
export const sharedQuery = z.object({
  period: periodField.meta({
    description:
      "The last 24 hours, 7, 30 or 90 days including today, or all time. `30d` when left out.",
  }),
  start_date: date.meta({
    description: "The first day of the range. 30 days before `end_date` when left out.",
    examples: ["2026-03-01"],
  }),
  end_date: date.meta({
    description:
      "The last day of the range; today when left out. At most five years after `start_date`.",
    examples: ["2026-03-31"],
  }),
  timezone: timezoneField.meta({
    description:
      "The IANA time zone whose days and hours group the clicks; that of the share when left out.",
  }),
});

export type SharedQuery = z.output<typeof sharedQuery>;

/** As {@link sharedQuery} from a form, whose mistakes the page itself explains. */
const formText = z.string().max(FORM_TEXT_LENGTH_MAX).optional();

export const sharedPageQuery = z.object({
  period: formText,
  start_date: formText,
  end_date: formText,
  timezone: formText,
});

export type SharedPageQuery = z.output<typeof sharedPageQuery>;

export const sharedParams = z.object({
  token: z.string().meta({
    description: "The token in the share's URL.",
    examples: [SHARE_TOKEN],
    // No token is longer: a longer one is `not_found`.
    maxLength: 43,
  }),
});

export const accessBody = strictComponent("SharePassword", "The password of shared statistics.", {
  password: z
    .string()
    .max(PASSWORD_LENGTH.max)
    .meta({
      description: "The password that was shared with the URL.",
      examples: ["correct horse battery"],
    }),
});

export const accessResponse = component(
  "ShareAccess",
  "Access to shared statistics with a password.",
  {
    access_token: text("Send it in `X-Share-Access`.", "1772446500.q1Zt…"),
    expires_at: z.iso
      .datetime()
      .meta({ description: "When the access ends.", examples: ["2026-03-02T10:15:00.000Z"] }),
  },
);

const sharedBreakdown = z.object({
  by: text("The dimension.", "country"),
  data: items(
    "The values with the most clicks, ten at most.",
    z.object({
      values: z.record(z.string(), z.string()).meta({
        description: "The value. A region has its country too, and a city its country and region.",
      }),
      clicks,
      percentage,
    }),
  ),
});

export const sharedResponse = component("SharedStatistics", "What a share shows.", {
  name: z.string().nullable().meta(META.name),
  short_url: textOrNull("The link's short URL; null for all links.", SHORT_URL),
  period: text("The period of the query.", "7d"),
  timezone: z.string().meta(META.timezone),
  ...rangeCounts,
  breakdowns: items("The dimensions that are shared.", sharedBreakdown),
  ...completeFromField,
});

export type SharedStatistics = z.output<typeof sharedResponse>;

/** The statistics on the page of a share. */
export type SharedView = {
  statistics: SharedStatistics;
  /** The clicks of all countries, for the map; undefined when the share does not show countries. */
  countries: readonly CountryClicks[] | undefined;
  brand: Brand | undefined;
};
