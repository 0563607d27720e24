/** `/v1/reports`. */
import type { CallOptions, Calls } from "./calls.ts";
import { path } from "./http.ts";
import type { Body, Report } from "./types.ts";

/** The functions for reports. */
export class Reports {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /**
   * Creates a report, which is made of each week or month that is over.
   *
   * @throws ShorthopError `forbidden`, `not_found` for its link, `invalid_request`,
   *   `quota_exceeded`.
   * @example
   * const { next_run_at } = await shorthop.reports.create({
   *   name: "Monday numbers",
   *   period: "weekly",
   *   timezone: "Europe/Berlin",
   * });
   */
  create(report: Body<"createReport">, options?: CallOptions) {
    return this.#calls.create<"createReport">("/v1/reports", report, options);
  }

  /**
   * Returns one report.
   *
   * @throws ShorthopError `not_found`.
   * @example
   * const { status } = await shorthop.reports.get(report.id);
   */
  async get(id: string, options?: CallOptions) {
    return this.#calls.get<"getReport">(path`/v1/reports/${id}`, undefined, options);
  }

  /**
   * Iterates over every report of the account.
   *
   * @throws ShorthopError From the iteration: `forbidden` without the scope `reports:read`.
   * @example
   * for await (const { id, name } of shorthop.reports.all()) console.log(id, name);
   */
  all(options?: CallOptions) {
    return this.#calls.list<Report>("/v1/reports", {}, options);
  }

  /**
   * Changes a report, also to pause or continue it. Fields that are left out stay as they are.
   *
   * @throws ShorthopError `not_found`, `forbidden`, `invalid_request`.
   * @example
   * await shorthop.reports.update(report.id, { status: "paused" });
   */
  async update(id: string, body: Body<"updateReport">, options?: CallOptions) {
    return this.#calls.patch<"updateReport">(path`/v1/reports/${id}`, body, options);
  }

  /**
   * Deletes a report.
   *
   * @throws ShorthopError `not_found`.
   * @example
   * await shorthop.reports.delete(report.id);
   */
  async delete(id: string, options?: CallOptions) {
    return this.#calls.delete<"deleteReport">(path`/v1/reports/${id}`, options);
  }

  /**
   * Makes a report of the last week or month that is over, now.
   *
   * @throws ShorthopError `not_found`, `forbidden`, `rate_limited`.
   * @example
   * const { clicks } = await shorthop.reports.send(report.id);
   */
  async send(id: string, options?: CallOptions) {
    return this.#calls.post<"sendReport">(path`/v1/reports/${id}/send`, undefined, options);
  }

  /**
   * Returns the newest runs of a report.
   *
   * @throws ShorthopError `not_found`.
   * @example
   * const { data } = await shorthop.reports.runs(report.id);
   */
  async runs(id: string, options?: CallOptions) {
    return this.#calls.get<"listReportRuns">(path`/v1/reports/${id}/runs`, undefined, options);
  }
}
