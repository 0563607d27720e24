/**
 * The API's contract: all of the OpenAPI document that a client can rely on, and what of it a later
 * document breaks. "accepted" is what clients send, "returned" what they get; a schema that is both
 * is in the contract twice.
 */
import * as z from "zod";

import type { Schema } from "../../shared/contracts/json-schema.ts";

const schemaType = z.custom<Schema>((value) => typeof value === "object" && value !== null);
const contents = z.record(z.string(), z.looseObject({ schema: schemaType.optional() }));

const operation = z.looseObject({
  parameters: z
    .array(
      z.looseObject({
        name: z.string(),
        in: z.string(),
        required: z.boolean().default(false),
        schema: schemaType,
      }),
    )
    .default([]),
  requestBody: z.looseObject({ content: contents }).optional(),
  responses: z.record(z.string(), z.looseObject({ content: contents.default({}) })),
});

const documentShape = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.looseObject({ schemas: z.record(z.string(), schemaType) }),
});

type Direction = "accepted" | "returned";

/** Keys of a schema that bound its values, and whether a larger value admits more of them. */
const BOUNDS: Readonly<Record<string, boolean>> = {
  maxLength: true,
  maximum: true,
  maxItems: true,
  minLength: false,
  minimum: false,
  minItems: false,
};
/** Keys of a schema that any change of which admits other values. */
const FORMS = new Set(["pattern", "format"]);

const EXISTS = "exists";
const MAY_BE = "may be ";
const REQUIRES = "requires ";

/** By direction, place and property of that place (separated by tabs): its value. */
export type Contract = ReadonlyMap<string, string>;

/** The contract of an OpenAPI document. */
export function readContract(document: unknown): Contract {
  const { paths, components } = documentShape.parse(document);
  const contract = new ContractReader(components.schemas);
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { parameters, requestBody, responses }] of Object.entries(methods)) {
      const place = `${method.toUpperCase()} ${path}`;
      contract.add("accepted", place, EXISTS);
      for (const { name, required, schema, in: where } of parameters) {
        if (required) contract.add("accepted", place, `${REQUIRES}${where} ${name}`);
        contract.addSchema("accepted", `${place} ${where} ${name}`, schema);
      }
      for (const [type, { schema }] of Object.entries(requestBody?.content ?? {}))
        contract.addSchema("accepted", `${place} ${type}`, schema ?? {});
      for (const [status, { content }] of Object.entries(responses)) {
        if (status >= "400") continue;
        contract.add("returned", `${place} ${status}`, EXISTS);
        for (const [type, { schema }] of Object.entries(content))
          contract.addSchema("returned", `${place} ${status} ${type}`, schema ?? {});
      }
    }
  }
  return contract.lines;
}

class ContractReader {
  readonly lines = new Map<string, string>();
  readonly #schemas: Readonly<Record<string, Schema>>;

  constructor(schemas: Readonly<Record<string, Schema>>) {
    this.#schemas = schemas;
  }

  add(direction: Direction, place: string, property: string, value = ""): void {
    this.lines.set(`${direction}\t${place}\t${property}`, value);
  }

  /** Adds a place where values of a schema are, and all places below it. */
  addSchema(direction: Direction, place: string, schema: Schema): void {
    this.add(direction, place, EXISTS);
    const named = schema.$ref?.split("/").at(-1);
    if (named !== undefined) {
      this.add(direction, place, `${MAY_BE}${named}`);
      const isKnown = this.lines.has(`${direction}\t${named}\t${EXISTS}`);
      if (!isKnown) this.addSchema(direction, named, this.#schemas[named] ?? {});
      return;
    }
    const alternatives = schema.anyOf ?? schema.oneOf ?? [];
    for (const [i, alternative] of alternatives.entries()) {
      // Also a value that is null, or one of an enumeration, is one of the same place.
      const isPlain =
        alternative.$ref !== undefined ||
        alternative.type === "null" ||
        alternative.enum !== undefined;
      this.addSchema(direction, isPlain ? place : `${place}|${i}`, alternative);
    }
    const values = schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
    if (values === undefined)
      for (const type of [schema.type ?? []].flat()) this.add(direction, place, MAY_BE + type);
    for (const value of values ?? []) this.add(direction, place, MAY_BE + JSON.stringify(value));
    for (const [key, value] of Object.entries(schema))
      if (key in BOUNDS || FORMS.has(key)) this.add(direction, place, key, String(value));
    for (const [name, property] of Object.entries(schema.properties ?? {}))
      this.addSchema(direction, `${place}.${name}`, property);
    for (const name of schema.required ?? []) this.add(direction, place, REQUIRES + name);
    if (schema.items !== undefined) this.addSchema(direction, `${place}[]`, schema.items);
    if (typeof schema.additionalProperties === "object")
      this.addSchema(direction, `${place}.*`, schema.additionalProperties);
  }
}

/**
 * What of a contract no longer holds in a later one, a sentence each. By docs/stability.md there
 * may be new operations, optional parameters and fields, more values that are accepted, and more
 * values of an enumeration that is returned.
 */
export function findBreaks(before: Contract, now: Contract): string[] {
  const breaks: string[] = [];
  for (const [key, value] of before) {
    const later = now.get(key);
    const property = key.split("\t").at(-1) ?? "";
    const isAccepted = key.startsWith("accepted");
    if (later === undefined) {
      const isLooser = property.startsWith(REQUIRES) || isConstraint(property);
      const isNarrower = property.startsWith(MAY_BE);
      if (!(isAccepted ? isLooser : isNarrower)) breaks.push(`gone: ${readable(key)}`);
    } else if (
      later !== value &&
      !(property in BOUNDS && admits(property, value, later, isAccepted))
    )
      breaks.push(`changed from ${value} to ${later}: ${readable(key)}`);
  }
  for (const key of now.keys()) {
    if (before.has(key)) continue;
    const [direction, place, property = ""] = key.split("\t");
    if (!before.has(`${direction}\t${place}\t${EXISTS}`)) continue;
    const isStricter = property.startsWith(REQUIRES) || isConstraint(property);
    const isOther = property.startsWith(MAY_BE) && !property.endsWith('"');
    if (direction === "accepted" ? isStricter : isOther) breaks.push(`new: ${readable(key)}`);
  }
  return breaks;
}

const isConstraint = (property: string): boolean => property in BOUNDS || FORMS.has(property);

/** Whether a changed bound admits all that clients send, or no more than they got. */
const admits = (bound: string, before: string, now: string, isAccepted: boolean): boolean =>
  Number(now) > Number(before) === (BOUNDS[bound] === isAccepted);

const readable = (key: string): string => key.replaceAll("\t", " ").replace(` ${EXISTS}`, "");
