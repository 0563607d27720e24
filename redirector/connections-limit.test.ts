/** Goal: a redirector never accepts more connections than it may open files. */
import { expect, test } from "bun:test";

import { readConnectionsLimit } from "./config.ts";

const limits = (files: string) => () =>
  `Max processes             95945                95945                processes \nMax open files            1024                 ${files}               files     \nMax locked memory         8388608              8388608              bytes     \n`;

test.each([
  ["20000", 20_000 - 256],
  ["100", 1],
  ["unlimited", Infinity],
])("of %s open files, some are left for other things than connections", (files, connections) => {
  expect(readConnectionsLimit(limits(files))).toBe(connections);
});

test("systems that do not tell have no limit", () => {
  expect(readConnectionsLimit(() => "")).toBe(Infinity);
});
