/** Goal: what a limit kept from being measured is no route that costs little. */
import { expect, test } from "bun:test";

import { listUnmeasured } from "./table.ts";

test("a route of which a limit refused every input was not measured", () => {
  expect(
    listUnmeasured([
      { target: "refused", status: 429 },
      { target: "refused", status: 429 },
      { target: "refused later", status: 400 },
      { target: "refused later", status: 429 },
    ]),
  ).toEqual(["refused"]);
});
