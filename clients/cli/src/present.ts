type Present<Fields> = { [Name in keyof Fields]: Exclude<Fields[Name], undefined> };

/** The fields that are not undefined: to the client's types, an undefined one is not absent. */
export const present = <Fields extends object>(fields: Fields): Partial<Present<Fields>> =>
  // Only undefined values are left out.
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<
    Present<Fields>
  >;
