/**
 * Responds to visitors of a shared statistics URL with a page, also when there is nothing to show.
 */
import { ApiError } from "../../http/errors.ts";
import type { SharedQuery } from "../model.ts";
import type { SharedService } from "../reading.ts";
import { pageHeaders, renderMessage, renderPasswordForm, renderStatistics } from "./page.ts";

export type Page = { status: number; headers: Record<string, string>; html: string };

const COOKIE = "shorthop_shared";

const ACCESS = /(?:^|;\s*)shorthop_shared=([\w.-]{1,64})(?:;|$)/;

/** `secure` means that the site is reached by https. */
export function createSharedPages(shared: SharedService, secure: boolean) {
  /** Renders what a share permits; rethrows errors that mean nothing to a reader. */
  async function respond(
    token: string,
    render: (embedOrigins: readonly string[]) => Promise<Page>,
  ) {
    try {
      const { embed_origins } = await shared.find(token);
      return await render(embed_origins);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status === 400) throw error;
      const html = renderMessage(
        error.reason === "not_found" ? "There are no statistics at this address." : error.message,
      );
      return { status: error.status, headers: { ...pageHeaders([]), ...error.headers }, html };
    }
  }

  return {
    /** The statistics, or the form for their password. `cookies` is the header. */
    show: (token: string, cookies: string, query: SharedQuery): Promise<Page> =>
      respond(token, async (embedOrigins) => {
        const headers = pageHeaders(embedOrigins);
        try {
          const statistics = await shared.read(token, ACCESS.exec(cookies)?.[1], query);
          return { status: 200, headers, html: renderStatistics(statistics, token) };
        } catch (error) {
          if (!(error instanceof ApiError) || error.reason !== "unauthorized") throw error;
          return { status: 401, headers, html: renderPasswordForm("") };
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
          return { status: 303, headers: { ...headers, location, "set-cookie": cookie }, html: "" };
        } catch (error) {
          if (!(error instanceof ApiError) || error.reason !== "forbidden") throw error;
          return {
            status: 403,
            headers,
            html: renderPasswordForm("That is not the right password."),
          };
        }
      }),
  };
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
