/** One script with the pages that show counts of clicks. */
export * from "./analytics/analytics-pages.tsx";
export { LivePage } from "./analytics/live-page.tsx";
export { TagsPage } from "./tags/page.tsx";
