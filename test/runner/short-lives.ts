/**
 * Has all processes that this one starts run as suits those that live for seconds. Bun's allocator
 * keeps its memory, in large pages: it gives it back after moments and takes it again page by page,
 * which is a third of their CPU time (https://microsoft.github.io/mimalloc/environment.html). The
 * compiler for code that has run for long does not start, and one thread marks garbage: the others
 * would take the processor from what is tested.
 */
export function suitShortLives(): void {
  process.env["MIMALLOC_ALLOW_THP"] = "1";
  process.env["MIMALLOC_PURGE_DELAY"] = "-1";
  process.env["BUN_JSC_useFTLJIT"] = "0";
  process.env["BUN_JSC_numberOfGCMarkers"] = "1";
}
