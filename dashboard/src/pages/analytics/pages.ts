/** The pages that show counts of clicks. */
export { TagsPage } from "../tags/page.tsx";
export { AccountAnalyticsPage, PropertyAnalyticsPage } from "./account-page.tsx";
export { LinkAnalyticsPage } from "./link-page.tsx";
export { LivePage } from "./live-page.tsx";
