/** Hides secrets in what setup prints. */

const HIDDEN = "…";

/** Passwords in URLs, and values of lines whose name says that they are secret. */
const PATTERNS: readonly [pattern: RegExp, replacement: string][] = [
  [/(:\/\/[^\s:@/]{1,100}:)[^\s@/]{1,200}(?=@)/g, `$1${HIDDEN}`],
  [/^([+\- ]? ?\w{0,60}(?:secret|password\w{0,20})\s?[=:]\s?).{1,300}/gim, `$1${HIDDEN}`],
];

/** Creates a function that hides these secrets, and everything that looks like one. */
export const createMask =
  (secrets: readonly string[]) =>
  (text: string): string => {
    const known = secrets
      .filter((secret) => secret !== "")
      .reduce((masked, secret) => masked.replaceAll(secret, HIDDEN), text);
    return PATTERNS.reduce(
      (masked, [pattern, replacement]) => masked.replace(pattern, replacement),
      known,
    );
  };
