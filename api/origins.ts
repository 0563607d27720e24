/**
 * The origins at which this installation is reached, without a slash at their ends. They are those
 * of the configuration; who links to a page of the API or the dashboard has them from here.
 */
type Configured = { API_URL?: string | undefined; DASHBOARD_URL?: string | undefined };

type Origins = { apiUrl: string | undefined; dashboardUrl: string | undefined };

export const readOrigins = ({ API_URL, DASHBOARD_URL }: Configured): Origins => ({
  apiUrl: toOrigin(API_URL),
  dashboardUrl: toOrigin(DASHBOARD_URL),
});

const toOrigin = (url: string | undefined): string | undefined =>
  url === undefined ? undefined : new URL(url).origin;
