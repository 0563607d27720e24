/** What is written about a field or a parameter. */
export type Prose = {
  /** Says what it is: a sentence, or several. */
  text: string;
  /** A realistic value; left out where the schema gives one: an enumeration, a default. */
  example?: unknown;
  /** Constraints that the API checks outside of the schema. */
  schema?: { format?: string; pattern?: string; maxLength?: number; maxItems?: number };
};
