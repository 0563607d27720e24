import { expect, test } from "bun:test";

import { accessDetail, requireAccessRules } from "./access-rules.ts";

test("a route without an access rule prevents the API from starting", () => {
  const guarded = {
    method: "GET",
    path: "/v1/a",
    hooks: { detail: accessDetail({ scope: null, endpoint: null, cost: 1 }) },
  };
  expect(() => requireAccessRules([guarded])).not.toThrow();
  expect(() => requireAccessRules([guarded, { method: "POST", path: "/v1/b", hooks: {} }])).toThrow(
    "POST /v1/b",
  );
});
