/** How the servers of this process listen and stop. */
/** `shared` lets the other API processes of the host listen on the same port. */
export const listenOptions = (shared: boolean) =>
  ({
    // Two processes that are not meant to share a port would silently divide its connections.
    reusePort: shared,
    development: false,
    idleTimeout: 30,
    // `json-body.ts` bounds bodies, so that the error response has our envelope.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  }) as const;

/** How long a stopping process that shares its port sends its clients to the other processes, before it closes. */
const DRAIN_MS = 2_000;

/**
 * Stops a server when its requests are done. Bun closes idle connections at once, so that a client which reuses one
 * at that moment fails: with a shared port, clients are first asked to connect again (`health-plugin.ts`).
 */
export async function stopSite(
  server: { stop: () => Promise<void> } | null,
  shared: boolean,
): Promise<void> {
  if (shared) await Bun.sleep(DRAIN_MS);
  await server?.stop();
}
