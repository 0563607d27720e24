/** `--invite` and `--join`: other hosts get their roles from the host of the stores. */
import { acceptInvitation, createCertificate, openInvitation, VALID_MS } from "./invite.ts";
import { type Secrets, secretsFor } from "./secrets.ts";
import { isLoopback, type Role, type Settings, type Values } from "./settings.ts";
import type { System } from "./system.ts";
import { formatToken } from "./token.ts";

const MINUTE_MS = 60_000;

type Installation = { settings: Settings; secrets: Secrets; system: System };

/** Throws when this is not the host of the stores, or when others cannot reach them. */
export function requireInviting({ ROLE, STORES }: Settings): void {
  if (ROLE !== "stores")
    throw new Error(
      "Only the host of the stores invites others: run shorthop setup --invite there.",
    );
  if (isLoopback(STORES))
    throw new Error(
      `Other hosts cannot reach the stores at ${STORES}: also give --stores ADDRESS.`,
    );
}

/** Prints a token for a host of each role, and waits until all have joined. Throws at their end. */
export async function inviteHosts(
  roles: readonly Role[],
  { settings, secrets, system }: Installation,
  print: (line: string) => void,
): Promise<void> {
  const { DOMAIN, STORES, EMAIL, ACCOUNT } = settings;
  const { tokens, ended } = await openInvitation({
    certificate: await createCertificate(system),
    hosts: roles.map((ROLE) => ({
      ...listPresent({ DOMAIN, STORES, EMAIL, ACCOUNT, ROLE }),
      ...listPresent(secretsFor(ROLE, secrets)),
    })),
    host: STORES,
  });
  const lines = tokens.map((token, i) => `    ${formatToken(token)}  ${roles[i]}`);
  print(`  On each other host, with the same packages:

    shorthop setup --join ${STORES}

  It asks for a token. Each is for one host of its role, and valid for ${VALID_MS / MINUTE_MS} minutes:

${lines.join("\n")}
`);
  if (!(await ended)) throw new Error("Not all have joined. The tokens are not valid any more.");
  print(roles.length === 1 ? "The host has joined." : "All hosts have joined.");
}

const listPresent = (values: Values): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );

/**
 * Takes the invitation of a host; again, when secrets have changed there. Throws when this host has
 * the stores itself, or when the invitation is not open.
 */
export async function joinHost(
  host: string,
  { ROLE: present }: Values,
  readToken: () => Promise<string>,
): Promise<Values> {
  if (present === "stores")
    throw new Error("This host has the stores itself: run shorthop setup --invite on it instead.");
  return await acceptInvitation(host, await readToken());
}
