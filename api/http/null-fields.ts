/**
 * Fields that a body has as null instead of leaving them out, as many programs send each field that
 * they do not set.
 */
import * as z from "zod";

/**
 * Leaves out the members of a body that are null where a field may be left out and does not take
 * null. In a change (`PATCH`) null removes a value: the body's own nulls stay, and only those of
 * the objects within it are left out. Returns the same value if it has none to leave out.
 */
export function omitNulls(schema: unknown, value: unknown, isChange = false): unknown {
  const shape = shapeOf(schema);
  if (shape === undefined || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value))
    return "element" in shape ? value.map((entry) => omitNulls(shape.element, entry)) : value;
  if ("element" in shape) return value;
  const members: [string, unknown][] = [];
  let isSame = true;
  for (const [name, member] of Object.entries(value)) {
    const field = shape.fields.get(name);
    const isLeftOut = member === null && !isChange && field?.mayOnlyBeLeftOut === true;
    const read = field === undefined ? member : omitNulls(field.schema, member);
    isSame &&= !isLeftOut && read === member;
    if (!isLeftOut) members.push([name, read]);
  }
  return isSame ? value : Object.fromEntries(members);
}

type Field = { schema: unknown; mayOnlyBeLeftOut: boolean };

/** What a schema describes: a list, by the schema of its entries, or an object. */
type Shape = { element: unknown } | { fields: ReadonlyMap<string, Field> };

/** By schema: a body may have many objects of one. */
const SHAPES = new WeakMap<object, { shape: Shape | undefined }>();

/** The shape of a schema; undefined where nothing can be left out. */
function shapeOf(schema: unknown): Shape | undefined {
  if (typeof schema !== "object" || schema === null) return undefined;
  let known = SHAPES.get(schema);
  if (known === undefined) SHAPES.set(schema, (known = { shape: findShape(schema) }));
  return known.shape;
}

function findShape(schema: unknown): Shape | undefined {
  const { inner } = unwrap(schema);
  if (inner instanceof z.ZodArray)
    return shapeOf(inner.element) === undefined ? undefined : { element: inner.element };
  return hasFields(inner) ? { fields: fieldsOf(inner) } : undefined;
}

type WithFields = z.ZodObject | z.ZodDiscriminatedUnion;

const hasFields = (schema: unknown): schema is WithFields =>
  schema instanceof z.ZodObject || schema instanceof z.ZodDiscriminatedUnion;

/**
 * The fields of an object, or of all objects of a union: one that may be left out of any of these
 * is left out of each.
 */
function fieldsOf(schema: WithFields): Map<string, Field> {
  const all =
    schema instanceof z.ZodObject
      ? Object.entries(schema.shape).map(([name, field]) => [name, toField(field)] as const)
      : schema.options.filter(hasFields).flatMap((option) => [...fieldsOf(option)]);
  const fields = new Map<string, Field>();
  for (const [name, field] of all) {
    const { schema: first, mayOnlyBeLeftOut } = fields.get(name) ?? field;
    fields.set(name, {
      schema: first,
      mayOnlyBeLeftOut: mayOnlyBeLeftOut || field.mayOnlyBeLeftOut,
    });
  }
  return fields;
}

function toField(schema: unknown): Field {
  const { isOptional, isNullable } = unwrap(schema);
  return { schema, mayOnlyBeLeftOut: isOptional && !isNullable };
}

/** The schema within wrappers, and whether these let its value be left out or null. */
export function unwrap(schema: unknown): {
  inner: unknown;
  isOptional: boolean;
  isNullable: boolean;
} {
  let [inner, isOptional, isNullable] = [schema, false, false];
  for (;;) {
    if (inner instanceof z.ZodPipe) inner = inner.in;
    else if (inner instanceof z.ZodNullable) [inner, isNullable] = [inner.unwrap(), true];
    else if (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault)
      [inner, isOptional] = [inner.unwrap(), true];
    else return { inner, isOptional, isNullable };
  }
}
