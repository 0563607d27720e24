/**
 * Goal: any input gets a clear response, and no window accepts more than its limit. All random
 * cases of two tests, of which every change runs some.
 */
process.env["SHORTHOP_TEST_CASES"] = "all";
await import("../api/fuzz.test.ts");
await import("../../api/limits/windows.test.ts");
