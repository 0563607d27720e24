/** How the servers of this process listen and stop. */
/** `shared` lets the other API processes of the host listen on the same port. */
export const listenOptions = (shared: boolean) =>
  ({
    // Otherwise two processes that are not meant to share a port would silently divide its
    // connections.
    reusePort: shared,
    development: false,
    idleTimeout: 30,
    // `json-body.ts` bounds bodies, so that the error response has our envelope.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  }) as const;

/**
 * How long a stopping process that shares its port sends its clients to the other processes, before
 * it closes.
 */
const DRAIN_MS = 2_000;

/**
 * Stops a server after its requests have ended. Bun closes idle connections at once, so a client
 * that reuses one at that moment fails. With a shared port, clients are first asked to reconnect
 * (`health-plugin.ts`).
 */
export async function stopSite(
  server: { stop: () => Promise<void> } | null,
  shared: boolean,
): Promise<void> {
  if (shared) await Bun.sleep(DRAIN_MS);
  await server?.stop();
}
