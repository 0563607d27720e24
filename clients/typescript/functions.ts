/** What a client consists of, for tests that compare it with the API and with other clients. */

/** The fields and methods of a part of a client. */
export function membersOf(part: object): [string, unknown][] {
  const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(part));
  const names = [...Object.keys(part), ...methods.filter((name) => name !== "constructor")];
  return names.map((name) => [name, Reflect.get(part, name)]);
}

/** The names of all functions of a client, such as `links.create`. */
export const listFunctions = (part: object, prefix = ""): string[] =>
  membersOf(part).flatMap(([name, member]) =>
    typeof member === "object" && member !== null
      ? listFunctions(member, `${prefix}${name}.`)
      : [prefix + name],
  );
