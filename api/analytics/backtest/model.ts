/** Schemas of backtests: which rules would have decided the clicks of a period. */
import * as z from "zod";

import { rulesField } from "../../../shared/contracts/link-rules.ts";
import { completeFrom } from "../model.ts";
import { periodParameters } from "../period-parameters.ts";

export const backtestBody = z
  .strictObject({
    rules: rulesField.min(1).meta({
      description: "The rules to try, in order. They change nothing; ids have no meaning here.",
      examples: [
        [{ url: "https://example.com/de", conditions: [{ type: "country", in: ["DE", "AT"] }] }],
      ],
    }),
    ...periodParameters,
  })
  .meta({ id: "BacktestQuery" });

export type BacktestBody = z.output<typeof backtestBody>;

const clicks = z.int().meta({ examples: [120] });
const percentage = z.number().meta({ examples: [60] });

export const backtestResponse = z
  .object({
    link_id: z.string(),
    clicks: clicks.meta({ description: "People's clicks of the period: the sum of all others." }),
    rules: z
      .array(
        z
          .object({
            url: z.string(),
            clicks: clicks.meta({ description: "Clicks that the rule would have decided." }),
            undeterminable: z.int().meta({
              description:
                "Clicks that it may have decided: of these it is not stored what its conditions look at, so it is not known where they would have led.",
              examples: [3],
            }),
            percentage: percentage.meta({ description: "Share of `clicks` in all clicks." }),
          })
          .meta({ id: "BacktestRule" }),
      )
      .meta({ description: "The rules, in the order of the request." }),
    otherwise: z
      .object({
        clicks: clicks.meta({ description: "Clicks that no rule would have decided." }),
        percentage: percentage.meta({ description: "Share of these in all clicks." }),
      })
      .meta({
        id: "BacktestRest",
        description: "What would have been left to the split, or the link's own destination.",
      }),
    complete_from: completeFrom.complete_from.meta({
      description:
        "Present when not all clicks of the period were read: the newest 50,000 count, as far as single clicks are stored. Those before are not counted.",
    }),
  })
  .meta({ id: "Backtest" });

export type Backtest = z.output<typeof backtestResponse>;
