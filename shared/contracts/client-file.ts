/** The packed TypeScript client in the folder of the dashboard, and its path on the API. */
export const CLIENT_FILE = "client.tgz";
