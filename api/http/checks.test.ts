import { describe, expect, test } from "bun:test";

import { ApiError, checkAll, DETAILS_MAX, invalidField, unavailable } from "./errors.ts";

const refuse = (param: string) => () => {
  throw invalidField(param, "is wrong");
};

const refusalOf = async (run: Promise<unknown>): Promise<unknown> =>
  await run.catch((error: unknown) => error);

describe("checks of one request", () => {
  test("return their results in order", async () => {
    expect(await checkAll([() => 1, () => Promise.resolve("b"), () => undefined])).toEqual([
      1,
      "b",
      undefined,
    ]);
  });

  test("fail with the first problem, and have all as details", async () => {
    const refused = new ApiError("invalid_url", "No URL.", { param: "url" });
    expect(
      await refusalOf(
        checkAll([() => 1, () => Promise.reject(refused), refuse("alias"), refuse("tags")]),
      ),
    ).toMatchObject({
      reason: "invalid_url",
      message: "No URL.",
      param: "url",
      details: [{ param: "url", message: "No URL." }, { param: "alias" }, { param: "tags" }],
    });
  });

  test("name a bounded number of problems", async () => {
    const checks = Array.from({ length: 2 * DETAILS_MAX }, (_, i) => refuse(`field_${i}`));
    const error = await refusalOf(checkAll(checks));
    expect(error instanceof ApiError && error.details).toHaveLength(DETAILS_MAX);
  });

  test("fail as the service does when a check cannot be made", async () => {
    const failure = unavailable();
    const away = async () => await Promise.reject(failure);
    expect(await refusalOf(checkAll([refuse("alias"), away]))).toBe(failure);
  });
});
