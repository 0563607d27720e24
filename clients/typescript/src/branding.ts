/**
 * `/v1/branding`: how pages of shared statistics present the account, and how its QR codes look.
 */
import type { CallOptions, Calls } from "./calls.ts";
import type { Body } from "./types.ts";

/** The functions for the branding. */
export class Branding {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /**
   * Returns name, colour, logo and style of QR codes of the account, each null if there is none.
   *
   * @throws ShorthopError `forbidden` without the scope `shares:read`.
   * @example
   * const { name, color } = await shorthop.branding.get();
   */
  get(options?: CallOptions) {
    return this.#calls.get<"getBranding">("/v1/branding", undefined, options);
  }

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
  async update(body: Body<"updateBranding">, options?: CallOptions) {
    return this.#calls.change<"updateBranding">("PATCH", "/v1/branding", body, options);
  }
}
