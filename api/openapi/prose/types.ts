/** The description of a field or a parameter. */
export type Prose = {
  /** One sentence or several. */
  text: string;
  /** A realistic value; absent where the schema provides one: an enumeration, a default. */
  example?: unknown;
  /** Constraints that the API checks outside the schema. */
  schema?: { format?: string; pattern?: string; maxLength?: number; maxItems?: number };
};
