/**
 * Responds to visitors of a shared statistics URL with a page, also when there is nothing to show.
 */
import { ApiError, invalidField } from "../../http/errors.ts";
import { type SharedPageQuery, type SharedQuery, sharedQuery } from "../model.ts";
import type { SharedService } from "../reading.ts";
import { pageHeaders, renderMessage, renderPasswordForm } from "./document.ts";

export type Page = {
  status: number;
  headers: Record<string, string>;
  /** HTML as text, or compressed by gzip. */
  body: string | { gzip: Uint8Array<ArrayBuffer> };
};

const COOKIE = "shorthop_shared";

const ACCESS = /(?:^|;\s*)shorthop_shared=([\w.-]{1,64})(?:;|$)/;

/** `secure` means that the site is reached by https. */
export function createSharedPages(shared: SharedService, secure: boolean) {
  /** Renders what a share permits, or the reason why it cannot be read. */
  async function respond(
    token: string,
    render: (embedOrigins: readonly string[]) => Promise<Page>,
  ) {
    try {
      const { embed_origins } = await shared.find(token);
      return await render(embed_origins);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const headers = { ...pageHeaders([]), ...error.headers };
      return { status: error.status, headers, body: renderProblem(error) };
    }
  }

  return {
    /** The statistics, or the form for their password. `cookies` is the header. */
    show: (token: string, cookies: string, query: SharedPageQuery): Promise<Page> =>
      respond(token, async (embedOrigins) => {
        try {
          const view = await shared.read(token, ACCESS.exec(cookies)?.[1], parseQuery(query));
          // The components are loaded with the first page, not at the start of the process.
          const { renderStatistics } = await import("./page.tsx");
          const { gzip, code } = renderStatistics(view);
          return { status: 200, headers: pageHeaders(embedOrigins, code), body: { gzip } };
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
          const headers = { ...pageHeaders(embedOrigins), ...error.headers };
          return error.reason === "unauthorized"
            ? { status: 401, headers, body: renderPasswordForm("") }
            : { status: error.status, headers, body: renderProblem(error) };
        }
      }),
    /** Redirects to the statistics with a cookie that grants access, or back to the form. */
    unlock: (token: string, password: string, address: string): Promise<Page> =>
      respond(token, async (embedOrigins) => {
        const headers = pageHeaders(embedOrigins);
        try {
          const granted = await shared.unlock(token, password, address);
          const cookie = writeCookie(token, granted, secure);
          const location = `/shared/${token}`;
          return { status: 303, headers: { ...headers, location, "set-cookie": cookie }, body: "" };
        } catch (error) {
          if (!(error instanceof ApiError) || error.reason !== "forbidden") throw error;
          return {
            status: 403,
            headers,
            body: renderPasswordForm("That is not the right password."),
          };
        }
      }),
  };
}

/** Explains an error, with a way back if the reader has chosen something else than is possible. */
function renderProblem({ reason, status, message }: ApiError): string {
  const isMissing = reason === "not_found";
  return renderMessage(isMissing ? "There are no statistics at this address." : message, {
    back: status === 400 || status === 429,
  });
}

/** Validates what a form sent, where an empty field means nothing; throws `invalid_request`. */
function parseQuery(query: SharedPageQuery): SharedQuery {
  const given = Object.entries(query).filter(([, text]) => text !== "");
  const { data, error } = sharedQuery.safeParse(Object.fromEntries(given));
  if (data !== undefined) return data;
  const [issue] = error.issues;
  throw invalidField(String(issue?.path[0] ?? ""), issue?.message ?? "is not valid");
}

/**
 * Valid for this page only. With https it also works in a frame on another site, but only on the
 * site where it was set.
 */
function writeCookie(
  token: string,
  { access, expires }: { access: string; expires: number },
  secure: boolean,
): string {
  const maxAge = expires - Math.floor(Date.now() / 1_000);
  const sites = secure ? "SameSite=None; Secure; Partitioned" : "SameSite=Lax";
  return `${COOKIE}=${access}; Path=/shared/${token}; Max-Age=${maxAge}; HttpOnly; ${sites}`;
}
