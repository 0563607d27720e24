/** The languages of the dashboard. */

export const LANGUAGES = ["en", "de"] as const;

export type Language = (typeof LANGUAGES)[number];

export const FALLBACK: Language = "en";
