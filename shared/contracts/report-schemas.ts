/** Rules for reports, shared by the API and the dashboard's forms. */
import * as z from "zod";

import { plainText } from "./text-schemas.ts";

const NAME_LENGTH_MAX = 100;

/** `weekly` from Monday to Sunday, `monthly` by calendar month. */
export const REPORT_PERIODS = ["weekly", "monthly"] as const;

export type ReportPeriod = (typeof REPORT_PERIODS)[number];

/** Languages in which reports are written. */
export const REPORT_LANGUAGES = ["en", "de"] as const;

export type ReportLanguage = (typeof REPORT_LANGUAGES)[number];

/** The local hour at which a report is made unless it says another one. */
export const DEFAULT_HOUR = 8;

export const reportName = plainText(NAME_LENGTH_MAX).trim().min(1);

export const reportHour = z.int().min(0).max(23);
