/** How this process's sites listen. */
export const LISTENING = {
  // Two processes on one port would share its connections unnoticed.
  reusePort: false,
  development: false,
  idleTimeout: 30,
  // Bodies are bounded where they are read, so that the answer is our own.
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
} as const;
