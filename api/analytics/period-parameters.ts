/** The period of a query, as query parameters or as members of a JSON body. */
import * as z from "zod";

import { TIME_ZONE } from "../../shared/contracts/examples.ts";
import { PERIODS } from "../../shared/contracts/periods.ts";
import { boundaryProblem, zoneProblem } from "./period.ts";

/** Maximum characters of a date, and of a time zone's name. */
const TEXT_LENGTH_MAX = 64;

/** A text that `problemOf` accepts; its problem is the error message. */
const textWithout = (problemOf: (text: string) => string | undefined) =>
  z
    .string()
    .max(TEXT_LENGTH_MAX)
    .superRefine((text, context) => {
      const problem = problemOf(text);
      if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
    })
    .optional();

/** An IANA time zone. */
export const timezoneField = textWithout(zoneProblem).meta({
  description: "The IANA time zone whose days and hours group the clicks; `UTC` when left out.",
  examples: [TIME_ZONE],
});

export const periodField = z
  .enum(PERIODS)
  .optional()
  .meta({ examples: ["7d"] });

export const periodParameters = {
  period: periodField.meta({
    description:
      "The last 24 hours, 7, 30 or 90 days including today, or all time. `30d` when neither it nor dates are sent; ignored beside dates.",
  }),
  start_date: textWithout(boundaryProblem).meta({
    description:
      "The first day (`2026-01-31`, in `timezone`) or the instant (`2026-01-31T12:00:00Z`) at which the range begins. 30 days before `end_date` when left out.",
    examples: ["2026-03-01"],
  }),
  end_date: textWithout(boundaryProblem).meta({
    description:
      "The last day, whole, or the instant before which the range ends; now when left out. At most five years after `start_date`.",
    examples: ["2026-03-31"],
  }),
  timezone: timezoneField,
};
