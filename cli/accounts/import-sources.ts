/**
 * The products that `shorthop import` can read: a new one is a row here, and a file beside that of
 * YOURLS.
 */
import { Bitly } from "../../api/imports/bitly.ts";
import { CsvFile } from "../../api/imports/csv.ts";
import { Dub } from "../../api/imports/dub.ts";
import { Kutt } from "../../api/imports/kutt.ts";
import { Rebrandly } from "../../api/imports/rebrandly.ts";
import { Shlink } from "../../api/imports/shlink.ts";
import { ShortIo } from "../../api/imports/short-io.ts";
import { Shorthop } from "../../api/imports/shorthop.ts";
import type { Source } from "../../api/imports/source.ts";
import { Yourls } from "../../api/imports/yourls.ts";

/** How a source is read, without credentials, by the name of its option. */
export type SourceSettings = Readonly<Record<string, string>>;

export type SourceKind = {
  /** The name of its command. */
  name: string;
  description: string;
  /** Its URL, or another name of an account of it. */
  location: string;
  /** The name of the secret of its API, which is never an argument. */
  secret?: string;
  /** The flags of its options, with their descriptions. */
  options: readonly (readonly [flags: string, description: string])[];
  /** Names what is imported, without credentials. Throws for a location that is none. */
  identify(location: string, options: SourceSettings): string;
  open(location: string, options: SourceSettings, secret: string): Source;
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
  {
    name: "shlink",
    description: "Import links and visits of Shlink, by version 3 of its API",
    location: "the URL of the installation, such as https://s.example.com",
    secret: "API key",
    options: [],
    identify: Shlink.identify,
    open: (url, _, key) => Shlink.open(url, key),
  },
  {
    name: "kutt",
    description: "Import links and visits of Kutt, from its PostgreSQL, MySQL or SQLite",
    location:
      "postgres://USER@HOST/DATABASE, mysql://USER@HOST/DATABASE or sqlite:PATH; the password may be in SOURCE_PASSWORD",
    options: [
      ["--time-zone <zone>", "the zone of the server, which MySQL's times are in (default: UTC)"],
    ],
    identify: Kutt.identify,
    open: (url, { timeZone }) => new Kutt(url, timeZone),
  },
  {
    name: "dub",
    description: "Import links and visits of Dub, by its API",
    location: "the workspace of the key, such as acme",
    secret: "API key",
    options: [["--since <date>", "the first day of visits, if the plan has none before it"]],
    identify: Dub.identify,
    open: (_, { since }, key) => Dub.open(key, since),
  },
  {
    name: "bitly",
    description: "Import links and clicks by day of Bitly, by version 4 of its API",
    location: "a group, such as Bk1a2b3c4d5",
    secret: "Access token",
    options: [],
    identify: Bitly.identify,
    open: (group, _, token) => Bitly.open(group, token),
  },
  {
    name: "rebrandly",
    description: "Import links of Rebrandly, by its API",
    location: "the id of a workspace",
    secret: "API key",
    options: [],
    identify: Rebrandly.identify,
    open: (workspace, _, key) => Rebrandly.open(workspace, key),
  },
  {
    name: "short-io",
    description: "Import links of Short.io, by its API",
    location: "a domain there, such as go.example.com",
    secret: "Secret API key",
    options: [],
    identify: ShortIo.identify,
    open: (host, _, key) => ShortIo.open(host, key),
  },
  {
    name: "csv",
    description: "Import links of a CSV file, as other products and the dashboard export it",
    location: "the file",
    options: [
      ["--columns <list>", "what columns become, such as: Long URL=url,Code=alias,Comment=-"],
      ["--date-order <order>", "what comes first in dates such as 03/04/2030: day or month"],
    ],
    identify: CsvFile.identify,
    open: (path, { columns, dateOrder }) => new CsvFile(path, { columns, dateOrder }),
  },
  {
    name: "shorthop",
    description: "Import links and clicks of an account of another installation, by its API",
    location: "the URL of its API, such as https://api.example.com",
    secret: "API key",
    options: [],
    identify: Shorthop.identify,
    open: (url, _, key) => Shorthop.open(url, key),
  },
];
