/** The names of a release: its version, and the file of its client. */

export { version } from "../package.json";

export const CLIENT_FILE = "client.tgz";
