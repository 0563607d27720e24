/** The named periods of analytics, for the API and the dashboard. */
export const PERIODS = ["24h", "7d", "30d", "90d", "all"] as const;

export type Period = (typeof PERIODS)[number];

export const DEFAULT_PERIOD = "30d" satisfies Period;
