/** Who may query analytics, and which limit a query consumes. */

/** The access rule of all queries except the bulk one. */
export const READ_ACCESS = {
  scope: "analytics:read",
  limit: "GET /v1/analytics/*",
  cost: 1,
  expensive: true,
} as const;
