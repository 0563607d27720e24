/** What a client consists of, for tests that compare it with the API and with other clients. */

/** The fields and methods of a part of a client. */
export function membersOf(part: object): [string, unknown][] {
  const names = [...Object.keys(part), ...listMethods(Object.getPrototypeOf(part))];
  return names.map((name) => [name, Reflect.get(part, name)]);
}

/** The methods of a class, and of the one that it extends. */
function listMethods(of: object): string[] {
  if (of === Object.prototype) return [];
  const names = Object.getOwnPropertyNames(of).filter((name) => name !== "constructor");
  return [...names, ...listMethods(Object.getPrototypeOf(of))];
}

/** The names of all functions of a client, such as `links.create`. */
export const listFunctions = (part: object, prefix = ""): string[] =>
  membersOf(part).flatMap(([name, member]) =>
    typeof member === "object" && member !== null
      ? listFunctions(member, `${prefix}${name}.`)
      : [prefix + name],
  );
