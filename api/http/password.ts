/** How passwords are kept, of links and of people. */

/** OWASP's parameters for argon2id (Password Storage Cheat Sheet: 19 MiB, 2 passes). */
const PASSWORD_HASHING = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;

/** Argon2id in PHC form. */
export const hashPassword = (password: string): Promise<string> =>
  Bun.password.hash(password, PASSWORD_HASHING);
