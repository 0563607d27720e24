/** Passwords in events. */

type Protected = { password_hash: string | null };

/** A change of a password: whether there was one, and whether there is one; nothing else of it. */
export function passwordChange(
  { password_hash: before }: Protected,
  { password_hash: after }: Protected,
) {
  if (before === after) return {};
  return { password: { before: stateOf(before), after: stateOf(after) } };
}

const stateOf = (hash: string | null) => (hash === null ? null : "set");
