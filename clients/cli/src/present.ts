type Present<Fields> = { [Name in keyof Fields]: Exclude<Fields[Name], undefined> };

/** Without the fields that are undefined, which are not the same as left out. */
export const present = <Fields extends object>(fields: Fields): Partial<Present<Fields>> =>
  // Only undefined values are left out.
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<
    Present<Fields>
  >;
