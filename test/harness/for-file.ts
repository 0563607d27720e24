/** What all tests of a file share: it is started once, and ends after the last of them. */
import { afterAll, afterEach, beforeEach, setDefaultTimeout } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { TEST_TIMEOUT_MS } from "./eventually.ts";

/** What the file that runs has so far: a process runs one file after the other. */
let resources: AsyncDisposableStack | undefined;

export async function forFile<T extends AsyncDisposable | Disposable>(
  starting: T | Promise<T>,
): Promise<T>;
export async function forFile<T>(
  starting: T | Promise<T>,
  end: (resource: T) => unknown,
): Promise<T>;
/** Has a resource end with the file's last test: what was started last ends first. */
export async function forFile<T>(
  starting: T | Promise<T>,
  end?: (resource: T) => unknown,
): Promise<T> {
  const resource = await starting;
  // Without `end` it is disposable, as the first signature demands.
  if (end === undefined) resourcesOfFile().use(resource as AsyncDisposable);
  else resourcesOfFile().adopt(resource, async (own) => void (await end(own)));
  return resource;
}

/** A folder of the file's tests. */
export function dirForFile(prefix: string): string {
  const dir = mkdtempSync(join(tmpdir(), prefix));
  resourcesOfFile().defer(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** A folder of each test of the file; returns the function that tells which. */
export function dirForEach(prefix: string): () => string {
  let dir = "";
  beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), prefix))));
  afterEach(() => rmSync(dir, { recursive: true, force: true }));
  return () => dir;
}

/** With the first one, each test of the file gets the time that the runner gives it. */
function resourcesOfFile(): AsyncDisposableStack {
  if (resources !== undefined) return resources;
  setDefaultTimeout(TEST_TIMEOUT_MS);
  const own = new AsyncDisposableStack();
  resources = own;
  afterAll(async () => {
    resources = undefined;
    await own.disposeAsync();
  });
  return own;
}
