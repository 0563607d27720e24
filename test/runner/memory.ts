/**
 * Has all processes that this one starts keep their memory, in large pages: Bun's allocator gives
 * it back after moments and takes it again page by page, which is a third of the CPU time of a
 * process that lives for seconds. https://microsoft.github.io/mimalloc/environment.html
 */
export function keepMemory(): void {
  process.env["MIMALLOC_ALLOW_THP"] = "1";
  process.env["MIMALLOC_PURGE_DELAY"] = "-1";
}
