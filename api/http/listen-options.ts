/** The listen options of this process's HTTP servers. */
export const LISTEN_OPTIONS = {
  // With it, two processes on one port would silently share its connections.
  reusePort: false,
  development: false,
  idleTimeout: 30,
  // `json-body.ts` bounds bodies, so that the error response has our envelope.
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
} as const;
