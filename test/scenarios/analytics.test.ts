/**
 * Goal: every question about clicks is answered as a count of them is. All random questions of the
 * tests of analytics, of which every change asks some.
 */
process.env["SHORTHOP_TEST_CASES"] = "all";
await import("../api/analytics-filters.test.ts");
await import("../api/analytics-reference.test.ts");
