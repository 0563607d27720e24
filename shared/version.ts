/** What a release is called: its version, and the file of its client. */

export { version } from "../package.json";

export const CLIENT_FILE = "client.tgz";
