/**
 * The products that `shorthop import` can read: a new one is a row here, and a file beside that of
 * YOURLS.
 */
import type { Source } from "../../api/imports/source.ts";
import { Yourls } from "../../api/imports/yourls.ts";

/** What says how a source is read, without credentials, by the name of its option. */
export type SourceSettings = Readonly<Record<string, string>>;

export type SourceKind = {
  /** The name of its command. */
  name: string;
  description: string;
  /** What of it is given: a URL or a file. */
  location: string;
  /** The flags of its options, with their descriptions. */
  options: readonly (readonly [flags: string, description: string])[];
  /** Names what is imported, without credentials. Throws for a location that is none. */
  identify(location: string, options: SourceSettings): string;
  open(location: string, options: SourceSettings): Source;
};

export const SOURCES: readonly SourceKind[] = [
  {
    name: "yourls",
    description: "Import links and visits of YOURLS, from its MariaDB or MySQL",
    location: "mysql://USER@HOST/DATABASE; the password may be in SOURCE_PASSWORD",
    options: [
      ["--prefix <prefix>", "the prefix of its tables (default: yourls_)"],
      [
        "--time-zone <zone>",
        "the zone of its times (default: UTC, as YOURLS writes them since 1.7.3)",
      ],
    ],
    identify: (url, { prefix }) => Yourls.identify(url, prefix),
    open: (url, { prefix, timeZone }) => new Yourls(url, prefix, timeZone),
  },
];
