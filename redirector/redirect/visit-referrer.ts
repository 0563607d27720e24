/**
 * The referrer of a visit that a link's own page interrupts, for a password or a confirmation. The
 * page's form carries it, because the browser names this page, or none, when it posts the form.
 * Whoever posts another one could have sent it as a header of the visit as well.
 */
import { clickTextEnd, decodeText } from "../../shared/contracts/click-text.ts";
import { shortenReferrer } from "../../shared/visitors/referrer.ts";
import { decodeLatin1 } from "../http/bytes.ts";
import { type IncomingRequest, readFormField, withReferrer } from "../http/request.ts";
import { REFERRER_FIELD } from "../pages/link-forms.ts";

/** What a page's form carries: the visit's referrer as far as its click keeps it; "" for none. */
export function referrerOf({ head }: IncomingRequest): string {
  const { bytes, referrer } = head;
  const end = clickTextEnd("referrer", bytes, referrer);
  return shortenReferrer(decodeText(decodeLatin1(bytes, referrer.start, end)));
}

/** The visit of a request: of a posted form, with the referrer that the form carries. */
export function toVisit(incoming: IncomingRequest): IncomingRequest {
  if (incoming.head.method !== "POST") return incoming;
  const posted = readFormField(incoming, REFERRER_FIELD);
  return posted === undefined ? incoming : withReferrer(incoming, shortenReferrer(posted));
}
