/**
 * `/v1/branding`: how pages of shared statistics present the account, and how its QR codes look.
 */
import type { CallOptions, Calls } from "./calls.ts";
import type { Body, ResponseBody } from "./types.ts";

/** Creates the functions for the branding. */
export const createBranding = ({ get, json }: Calls) => ({
  /**
   * Returns name, colour, logo and style of QR codes of the account, each null if there is none.
   *
   * @throws ShorthopError `forbidden` without the scope `shares:read`.
   * @example
   * const { name, color } = await shorthop.branding.get();
   */
  get: (options?: CallOptions) =>
    get<ResponseBody<"getBranding">>("/v1/branding", undefined, options),
  /**
   * Changes name, colour, logo or style of QR codes. Fields that are left out stay as they are;
   * null removes one.
   *
   * @throws ShorthopError `invalid_request`, also for a logo that is no PNG, JPEG or WebP image, or
   * too large.
   * @example
   * const logo = (await readFile("logo.png")).toString("base64");
   * await shorthop.branding.update({ name: "Acme", color: "#1d4ed8", logo });
   */
  update: async (body: Body<"updateBranding">, { signal }: CallOptions = {}) =>
    json<ResponseBody<"updateBranding">>({
      method: "PATCH",
      path: "/v1/branding",
      body,
      signal,
    }),
});
