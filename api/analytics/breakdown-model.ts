/** Schemas of responses that break down clicks: by location, device, referrer, any dimension and time of the week. */
import * as z from "zod";

import { LAST_CLICK_AT } from "../../shared/contracts/examples.ts";
import { entriesOf, nextCursor } from "../http/pagination.ts";
import { linkName } from "./link-names.ts";
import {
  city,
  clicks,
  completeFrom,
  country,
  linkId,
  percentage,
  periodOfQuery,
  region,
  regionName,
  totalClicks,
  uniqueClicks,
} from "./response-fields.ts";

const counts = { clicks, percentage };

const countryClicks = z
  .object({
    country,
    country_name: z
      .string()
      .meta({ description: "The country's English name, or `Unknown`.", examples: ["Germany"] }),
    ...counts,
  })
  .meta({ id: "CountryClicks", description: "The clicks of a country." });

const regionClicks = z
  .object({ region, region_name: regionName, country, ...counts })
  .meta({ id: "RegionClicks", description: "The clicks of a region." });

const cityClicks = z
  .object({ city, region, country, ...counts })
  .meta({ id: "CityClicks", description: "The clicks of a city." });

const groupedBy = <Name extends string>(name: Name) =>
  z.literal(name).meta({
    description: "The parameter of the query, which determines the form of `data`.",
  });

const byCountry = z.object({
  group_by: groupedBy("country"),
  data: z.array(countryClicks).meta({ description: "Countries, most clicks first." }),
  ...completeFrom,
});
const byRegion = z.object({
  group_by: groupedBy("region"),
  data: z.array(regionClicks).meta({ description: "Regions, most clicks first." }),
  ...completeFrom,
});
const byCity = z.object({
  group_by: groupedBy("city"),
  data: z.array(cityClicks).meta({ description: "Cities, most clicks first." }),
  ...completeFrom,
});
const ofLink = { link_id: linkId };

export const geoResponse = z
  .discriminatedUnion("group_by", [
    z
      .object({ ...ofLink, ...byCountry.shape })
      .meta({ id: "LinkGeoByCountry", description: "The clicks of a link by country." }),
    z
      .object({ ...ofLink, ...byRegion.shape })
      .meta({ id: "LinkGeoByRegion", description: "The clicks of a link by region." }),
    z
      .object({ ...ofLink, ...byCity.shape })
      .meta({ id: "LinkGeoByCity", description: "The clicks of a link by city." }),
  ])
  .meta({
    id: "LinkGeo",
    description: "The clicks of a link by location; `group_by` determines the form of `data`.",
  });

export const accountGeoResponse = z
  .discriminatedUnion("group_by", [
    byCountry.meta({
      id: "AccountGeoByCountry",
      description: "The clicks of all links by country.",
    }),
    byRegion.meta({ id: "AccountGeoByRegion", description: "The clicks of all links by region." }),
    byCity.meta({ id: "AccountGeoByCity", description: "The clicks of all links by city." }),
  ])
  .meta({
    id: "AccountGeo",
    description: "The clicks of all links by location; `group_by` determines the form of `data`.",
  });

export type AccountGeoResponse = z.output<typeof accountGeoResponse>;

const deviceClicks = z
  .object({
    type: z.string().meta({
      description:
        "`desktop`, `mobile`, `tablet`, or `other` for televisions, consoles and the unknown.",
      examples: ["mobile"],
    }),
    ...counts,
  })
  .meta({ id: "DeviceClicks", description: "The clicks of a kind of device." });

const namedClicks = z
  .object({
    name: z
      .string()
      .meta({ description: "The name of the browser or system.", examples: ["Safari"] }),
    ...counts,
  })
  .meta({ id: "NamedClicks", description: "The clicks of a browser or a system." });

const devices = {
  devices: z.array(deviceClicks).meta({ description: "Kinds of device, most clicks first." }),
  browsers: z.array(namedClicks).meta({ description: "Browsers, most clicks first." }),
  os: z.array(namedClicks).meta({ description: "Operating systems, most clicks first." }),
  ...completeFrom,
};

export const devicesResponse = z.object({ ...ofLink, ...devices }).meta({
  id: "LinkDevices",
  description: "The clicks of a link by device, browser and system.",
});

export const accountDevicesResponse = z.object(devices).meta({
  id: "AccountDevices",
  description: "The clicks of all links by device, browser and system.",
});

export type AccountDevicesResponse = z.output<typeof accountDevicesResponse>;

const referrerClicks = z
  .object({
    source: z.string().meta({
      description:
        "The site that linked here, such as `google`; its host when it is not well known; `direct` for none.",
      examples: ["google"],
    }),
    ...counts,
  })
  .meta({ id: "ReferrerClicks", description: "The clicks of a referrer." });

const referrers = {
  referrers: z.array(referrerClicks).meta({ description: "Sources, most clicks first." }),
  ...completeFrom,
};

export const referrersResponse = z
  .object({ ...ofLink, ...referrers })
  .meta({ id: "LinkReferrers", description: "The clicks of a link by referrer." });

export const accountReferrersResponse = z
  .object(referrers)
  .meta({ id: "AccountReferrers", description: "The clicks of all links by referrer." });

export type AccountReferrersResponse = z.output<typeof accountReferrersResponse>;

const countedValues = z.object({
  values: z.record(z.string(), z.string()).meta({
    description:
      "The value of each dimension. A region has its country too, and a city its country and region.",
  }),
  clicks,
  unique_clicks: uniqueClicks,
  percentage,
});

const breakdown = {
  period: periodOfQuery,
  by: z
    .array(z.string())
    .meta({ description: "The dimensions of the query.", examples: [["country", "device"]] }),
  total_clicks: totalClicks.meta({
    description: "Clicks of all values, also of those on other pages.",
  }),
};

export const accountBreakdownResponse = z
  .object({
    ...breakdown,
    data: entriesOf(
      countedValues.extend({
        link: linkName
          .optional()
          .meta({ description: "The link in `values`; only where it is a dimension." }),
      }),
    ),
    next_cursor: nextCursor,
    ...completeFrom,
  })
  .meta({
    id: "AccountBreakdown",
    description: "The clicks of all links by one or two dimensions.",
  });

export type AccountBreakdownResponse = z.output<typeof accountBreakdownResponse>;

export const breakdownResponse = z
  .object({
    ...breakdown,
    data: entriesOf(countedValues),
    next_cursor: nextCursor,
    ...completeFrom,
    ...ofLink,
  })
  .meta({ id: "LinkBreakdown", description: "The clicks of a link by one or two dimensions." });

const times = {
  period: periodOfQuery,
  first_click_at: z.iso
    .datetime()
    .nullable()
    .meta({
      description: "The first click of the period; null when there is none.",
      examples: ["2026-03-02T09:15:07.318Z"],
    }),
  last_click_at: z.iso
    .datetime()
    .nullable()
    .meta({
      description: "The last click of the period; null when there is none.",
      examples: [LAST_CLICK_AT],
    }),
  heatmap: z.array(z.array(z.int())).meta({
    description: "Clicks by weekday, from Monday, and by hour of the time zone.",
    examples: [[[0, 3, 1]]],
  }),
  ...completeFrom,
};

export const accountTimesResponse = z
  .object(times)
  .meta({ id: "AccountTimes", description: "When links were clicked." });

export type AccountTimesResponse = z.output<typeof accountTimesResponse>;

export const timesResponse = z
  .object({ ...times, ...ofLink })
  .meta({ id: "LinkTimes", description: "When a link was clicked." });
