/** Fields that several responses about clicks share. */
import * as z from "zod";

import { LINK_ID } from "../../shared/contracts/examples.ts";

const text = (description: string, example: string) =>
  z.string().meta({ description, examples: [example] });

const count = (description: string, example: number) =>
  z.int().meta({ description, examples: [example] });

export const linkId = text("The link's id.", LINK_ID);

export const periodOfQuery = text("The period of the query; `custom` with dates.", "7d");

export const completeFrom = {
  complete_from: z.iso
    .datetime()
    .optional()
    .meta({
      description:
        "Present when filters need single clicks that have been deleted: earlier clicks are not counted.",
      examples: ["2026-02-01T00:00:00.000Z"],
    }),
};

export const clicks = count("Clicks by people.", 214);

export const totalClicks = count("Clicks by people.", 1284);

export const uniqueClicks = count("Distinct visitors.", 973);

export const percentage = z.number().meta({
  description: "Share of the clicks in the period, in percent, with one decimal.",
  examples: [16.7],
});

/** The day or hour of an entry. */
export const date = text(
  "The local day (`2026-03-02`) or hour (`2026-03-02T09:00`) in the time zone of the query, without an offset.",
  "2026-03-02",
);

/** The description of a list with an entry for each day or hour. */
export const overTimeMeta = {
  description: "One entry for each day of the period, or for each hour with `24h`, without gaps.",
};

export const country = text("The country's code by ISO 3166-1; `ZZ` when it is unknown.", "DE");

export const region = text(
  "The region's code by ISO 3166-2, its name where it has no code, or `Unknown`.",
  "DE-BE",
);

export const regionName = text("The region's name, or `Unknown`.", "Land Berlin");

export const city = text("The city's name, or `Unknown`.", "Berlin");

/** What is known of the visitor of a single click. */
export const clickFields = {
  time: text("When the redirect was sent.", "2026-03-02T09:15:07.318Z"),
  class: text("`human`, `bot` or `prefetch`.", "human"),
  device: text("`desktop`, `mobile`, `tablet` or `other`.", "mobile"),
  browser: text("The name of the browser.", "Safari"),
  os: text("The name of the system.", "iOS"),
  referrer: text("The site that linked here; `direct` for none.", "google.com"),
};
