/** Rules for shares, shared by the API and the dashboard's forms. */
import * as z from "zod";

import { toAsciiHost } from "./ascii-host.ts";
import { plainText, trimInvisible } from "./text.ts";

const NAME_LENGTH_MAX = 255;

/** Each breakdown is a query. */
export const BREAKDOWNS_MAX = 8;

/** An origin is a host of 253 characters at most, with its scheme and port. */
const ORIGIN_LENGTH_MAX = 270;

export const PASSWORD_LENGTH = { min: 8, max: 128 };

/** Only characters that cannot end a directive of a Content-Security-Policy. */
const ORIGIN = /^https?:\/\/(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;

/** The scheme and the host of an origin, which may be an internationalized one. */
const HOST = /^(https?:\/\/)([^/?#]+)$/i;

export const shareName = plainText(NAME_LENGTH_MAX);

/** A site that may embed a share's page. */
export const shareOrigin = z
  .string()
  .max(ORIGIN_LENGTH_MAX)
  .overwrite((text) =>
    trimInvisible(text).replace(
      HOST,
      (_, scheme: string, host: string) => scheme + toAsciiHost(host),
    ),
  )
  .refine(
    (text) => ORIGIN.test(text) && URL.parse(text)?.origin === text,
    "must be an origin such as https://www.example.com, without a path",
  );

export const sharePassword = z.string().min(PASSWORD_LENGTH.min).max(PASSWORD_LENGTH.max);

/** The breakdowns of a share; the API checks their names. */
export const shareBreakdowns = z.array(z.string()).max(BREAKDOWNS_MAX);
