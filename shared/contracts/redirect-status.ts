/** The status of a redirect, of a link or of a domain. */

/** Found, moved permanently, and both without a change of the method. */
export const REDIRECT_STATUSES = [301, 302, 307, 308] as const;

export type RedirectStatus = (typeof REDIRECT_STATUSES)[number];

/** The status of a redirect for which none is set. */
export const DEFAULT_REDIRECT_STATUS = 302;

export const isRedirectStatus = (value: unknown): boolean =>
  REDIRECT_STATUSES.some((status) => status === value);
