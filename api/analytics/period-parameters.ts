/** The period of a query, as query parameters or as members of a JSON body. */
import * as z from "zod";

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
export const timezoneField = textWithout(zoneProblem);

export const periodParameters = {
  period: z.enum(PERIODS).optional(),
  start_date: textWithout(boundaryProblem),
  end_date: textWithout(boundaryProblem),
  timezone: timezoneField,
};
