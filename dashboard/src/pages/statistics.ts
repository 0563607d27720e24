/** One script with the pages that show counts of clicks. */
export { AccountAnalyticsPage, PropertyAnalyticsPage } from "./analytics/account-page.tsx";
export { LinkAnalyticsPage } from "./analytics/link-page.tsx";
export { LivePage } from "./analytics/live-page.tsx";
export { TagsPage } from "./tags/page.tsx";
