/**
 * The forms of links' own pages: for a password, and to confirm. Each carries the referrer of the
 * visit that it interrupts.
 */
import type { Catalogue } from "../../shared/languages/catalogues.ts";
import type { Texts } from "../../shared/languages/messages.ts";
import { escapeText } from "./template.ts";

/** The field of the referrer. */
export const REFERRER_FIELD = "referrer";

/** The status of the page in each state of the password form. */
export const PASSWORD_STATES = { required: 401, wrong: 401, limited: 429, busy: 503 } as const;

export type PasswordState = keyof typeof PASSWORD_STATES;

/**
 * The challenge that a response with status 401 must have (RFC 9110 §15.5.2): a form that sets a
 * cookie. Browsers show the page, as they know no such scheme; for one that they know they would
 * ask in a dialog of their own, and never show the form.
 */
export const CHALLENGE = { "www-authenticate": 'Cookie realm="link"' };

/** Where a page has the referrer's field. */
const REFERRER_PLACE = "<!-- referrer -->";

type RedirectorTexts = Texts<Catalogue["redirector"]>;

export function passwordForm(texts: RedirectorTexts["password"], state: PasswordState): string {
  const alert = state === "required" ? "" : `<p role="alert">${escapeText(texts[state])}</p>\n`;
  return `${alert}<form method="post">
<label for="password">${escapeText(texts.label)}</label>
<input id="password" name="password" type="password" maxlength="128" autocomplete="off" required autofocus>
${REFERRER_PLACE}<button type="submit">${escapeText(texts.submit)}</button>
</form>`;
}

/** Programs follow links, but do not press buttons. */
export const confirmationForm = ({ text, submit }: RedirectorTexts["confirmation"]): string =>
  `<p>${escapeText(text)}</p>
<form method="post">
${REFERRER_PLACE}<button type="submit" name="confirm" value="yes" autofocus>${escapeText(submit)}</button>
</form>`;

/** A page with a form. */
export class PageForm {
  /** The HTML around the places of the referrer's field. */
  readonly #parts: readonly string[];
  readonly #plain: Buffer;

  constructor(page: string) {
    this.#parts = page.split(REFERRER_PLACE);
    this.#plain = Buffer.from(this.#parts.join(""));
  }

  /** The bytes of the page for a visit with a referrer, "" for none. */
  bodyFor(referrer: string): Buffer {
    return referrer === "" ? this.#plain : Buffer.from(this.#parts.join(field(referrer)));
  }
}

const field = (referrer: string): string =>
  `<input name="${REFERRER_FIELD}" type="hidden" value="${Bun.escapeHTML(referrer)}">\n`;
