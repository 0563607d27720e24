import { readableUrl } from "../../../../shared/contracts/readable-host.ts";

/** Returns a URL with its scheme, and with a readable host. */
export const withReadableHost = (url: string): string =>
  (/^https?:\/\//.exec(url)?.[0] ?? "") + readableUrl(url);
