/** Schemas of requests and responses about shares, and the rows they come from. */
import * as z from "zod";

import { instant } from "../../shared/contracts/instant.ts";
import { PERIODS } from "../../shared/contracts/periods.ts";
import {
  BREAKDOWNS_MAX,
  PASSWORD_LENGTH,
  shareName,
  shareOrigin,
  sharePassword,
} from "../../shared/contracts/share-schemas.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import type { CountryClicks } from "../../shared/statistics/world-map.tsx";
import { COLUMN_FILTERS } from "../analytics/filter-names.ts";
import { completeFrom, rangeCounts } from "../analytics/model.ts";
import { timezoneField } from "../analytics/period-parameters.ts";
import { boundaryProblem } from "../analytics/period.ts";
import type { Brand } from "../branding/model.ts";
import { listOf } from "../http/pagination.ts";

const EMBED_ORIGINS_MAX = 10;

/** The longest name of a time zone has about half as many characters. */
const FORM_TEXT_LENGTH_MAX = 64;

/** The dimensions that a share can show. */
const breakdowns = z
  .array(z.enum(COLUMN_FILTERS))
  .max(BREAKDOWNS_MAX)
  .refine((list) => new Set(list).size === list.length, "must not name a dimension twice");

const fields = {
  name: shareName.nullish(),
  breakdowns: breakdowns.optional(),
  timezone: timezoneField,
  password: sharePassword.nullish(),
  embed_origins: z.array(shareOrigin).max(EMBED_ORIGINS_MAX).optional(),
  expires_at: instant.nullish(),
};

export const createShareBody = z.strictObject({
  link_id: z.string().nullish(),
  ...fields,
});

export type CreateShareBody = z.output<typeof createShareBody>;

export const updateShareBody = z.strictObject(fields);

export type UpdateShareBody = z.output<typeof updateShareBody>;

export const shareResponse = z
  .object({
    id: z.string(),
    link_id: z.string().nullable(),
    name: z.string().nullable(),
    breakdowns: z.array(z.string()),
    timezone: z.string(),
    has_password: z.boolean(),
    embed_origins: z.array(z.string()),
    expires_at: z.iso.datetime().nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: "Share" });

export const newShareResponse = shareResponse
  .extend({ token: z.string(), url: z.string() })
  .meta({ id: "ShareWithUrl" });

export const shareListResponse = listOf(shareResponse).meta({ id: "ShareList" });

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
  .optional();

/** When, but no filters: a reader sees the owner's selection of what is known of the clicks. */
export const sharedQuery = z.object({
  period: z.enum(PERIODS).optional(),
  start_date: date,
  end_date: date,
  timezone: timezoneField,
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

export const sharedParams = z.object({ token: z.string() });

export const accessBody = z.strictObject({
  password: z.string().max(PASSWORD_LENGTH.max),
});

export const accessResponse = z
  .object({ access_token: z.string(), expires_at: z.iso.datetime() })
  .meta({ id: "ShareAccess" });

export const sharedResponse = z
  .object({
    name: z.string().nullable(),
    short_url: z.string().nullable(),
    period: z.string(),
    timezone: z.string(),
    ...rangeCounts,
    breakdowns: z.array(
      z.object({
        by: z.string(),
        data: z.array(
          z.object({
            values: z.record(z.string(), z.string()),
            clicks: z.int(),
            percentage: z.number(),
          }),
        ),
      }),
    ),
    ...completeFrom,
  })
  .meta({ id: "SharedStatistics" });

export type SharedStatistics = z.output<typeof sharedResponse>;

/** What the page of a share shows. */
export type SharedView = {
  statistics: SharedStatistics;
  /** The clicks of all countries, for the map; undefined when the share does not show countries. */
  countries: readonly CountryClicks[] | undefined;
  brand: Brand | undefined;
};
