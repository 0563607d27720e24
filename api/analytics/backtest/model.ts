/** Schemas of backtests: which rules would have decided the clicks of a period. */
import * as z from "zod";

import { destination } from "../../../shared/contracts/link-fields.ts";
import { rulesField } from "../../../shared/contracts/link-rules.ts";
import { periodParameters } from "../period-parameters.ts";
import { completeFrom, linkId } from "../response-fields.ts";

export const backtestBody = z
  .strictObject({
    rules: rulesField.min(1).meta({
      description: "The rules to try, in order. They change nothing; ids have no meaning here.",
      examples: [
        [{ url: "https://example.com/de", conditions: [{ type: "country", in: ["DE", "AT"] }] }],
      ],
    }),
    period: periodParameters.period.meta({
      description: "As in analytics; `30d` when neither it nor dates are sent.",
    }),
    start_date: periodParameters.start_date.meta({
      description: "The first day, or the instant, at which the range begins.",
    }),
    end_date: periodParameters.end_date.meta({
      description: "The last day, whole, or the instant before which the range ends.",
    }),
    timezone: periodParameters.timezone.meta({
      description: "The time zone of the days; `UTC` when left out. Schedules have their own.",
    }),
  })
  .meta({ id: "BacktestQuery", description: "Rules to try on the clicks of a period." });

export type BacktestBody = z.output<typeof backtestBody>;

const clicks = z.int().meta({ examples: [120] });
const percentage = z.number().meta({ examples: [60] });

export const backtestResponse = z
  .object({
    link_id: linkId,
    clicks: clicks.meta({
      description: "Clicks by people in the period: the sum of all other counts.",
    }),
    rules: z
      .array(
        z
          .object({
            url: destination,
            clicks: clicks.meta({ description: "Clicks that the rule would have matched." }),
            undeterminable: z.int().meta({
              description:
                "Clicks that it may have matched: what its conditions check is not stored for them.",
              examples: [3],
            }),
            percentage: percentage.meta({ description: "Share of `clicks` in all clicks." }),
          })
          .meta({ id: "BacktestRule", description: "The clicks that a rule would have matched." }),
      )
      .meta({ description: "The rules, in the order of the request." }),
    otherwise: z
      .object({
        clicks: clicks.meta({ description: "Clicks that no rule would have matched." }),
        percentage: percentage.meta({ description: "Share of these in all clicks." }),
      })
      .meta({ id: "BacktestRest", description: "The clicks that no rule would have matched." })
      .meta({
        description: "The clicks that would have gone to the split or the link's own destination.",
      }),
    complete_from: completeFrom.complete_from.meta({
      description:
        "Present when not all clicks of the period were read: only the newest 50,000 are counted, and only while single clicks are stored. Earlier clicks are not counted.",
    }),
  })
  .meta({
    id: "Backtest",
    description: "What rules would have done to the clicks of a period.",
  });

export type Backtest = z.output<typeof backtestResponse>;
