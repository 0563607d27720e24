/** `--invite` and `--join`: another host gets its role from the host of the stores. */
import { acceptInvitation, createCertificate, openInvitation, VALID_MS } from "./invite.ts";
import { type Secrets, secretsFor } from "./secrets.ts";
import { isLoopback, type Role, type Settings, type Values } from "./settings.ts";
import type { System } from "./system.ts";
import { formatToken } from "./token.ts";

const MINUTE_MS = 60_000;

type Installation = { settings: Settings; secrets: Secrets; system: System };

/**
 * Prints a token for one host, and waits until it has joined. Throws when this is not the host of
 * the stores, when others cannot reach them, and when nobody joins in time.
 */
export async function inviteHost(
  role: Role,
  { settings, secrets, system }: Installation,
  print: (line: string) => void,
): Promise<void> {
  if (settings.ROLE !== "stores" || secrets["OWNER_PASSWORD"] === undefined)
    throw new Error("Only the host of the stores invites others: run shorthop setup there first.");
  if (isLoopback(settings.STORES))
    throw new Error(
      `Other hosts cannot reach the stores at ${settings.STORES}: run shorthop setup --stores ADDRESS first.`,
    );
  const { DOMAIN, STORES, EMAIL, ACCOUNT } = settings;
  const { token, ended } = await openInvitation({
    certificate: await createCertificate(system),
    values: {
      ...listPresent({ DOMAIN, STORES, EMAIL, ACCOUNT, ROLE: role }),
      ...listPresent(secretsFor(role, secrets)),
    },
    host: STORES,
  });
  print(`On the other host, with the same packages:

    shorthop setup --join ${STORES}

It asks for this token, which is valid for ${VALID_MS / MINUTE_MS} minutes and once:

    ${formatToken(token)}
`);
  if (!(await ended)) throw new Error("Nobody has joined. The token is not valid any more.");
  print(`A host has joined with the role ${role}.`);
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
