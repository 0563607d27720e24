/** Prints JSON Schema of an OpenAPI document as types of Python. */
import type { Schema } from "../../shared/contracts/json-schema.ts";

/** Words of Python that cannot be a name. */
const WORDS = new Set(["class", "from", "in", "not", "is", "global", "import", "or", "and", "if"]);

const SCALARS: Readonly<Record<string, string>> = {
  string: "str",
  integer: "int",
  number: "float",
  boolean: "bool",
  null: "None",
};

/** The types that a document needs, in the order in which they are named. */
export class Models {
  readonly #schemas = new Map<string, Schema>();
  readonly #texts = new Map<string, string>();

  /** Adds a named type; an object becomes a `TypedDict`. */
  add(name: string, schema: Schema): void {
    this.#schemas.set(name, schema);
    // Its place, before those that it needs.
    this.#texts.set(name, "");
    const { properties } = schema;
    this.#texts.set(
      name,
      properties === undefined
        ? `${name}: TypeAlias = ${quote(this.typeOf(schema, name))}\n`
        : this.#printObject(name, { ...schema, properties }),
    );
  }

  /** The type of a schema; an object within it is added by a name that begins with `name`. */
  typeOf(schema: Schema, name: string): string {
    if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1) ?? "";
    if (schema.const !== undefined) return `Literal[${literal(schema.const)}]`;
    if (schema.enum !== undefined) return `Literal[${schema.enum.map(literal).join(", ")}]`;
    const options = schema.oneOf ?? schema.anyOf;
    if (options !== undefined) {
      const types = options.map((option, i) => this.typeOf(option, name + suffixOf(option, i)));
      return [...new Set(types)].join(" | ");
    }
    const kinds = [schema.type ?? []].flat();
    return kinds.map((kind) => this.#typeOfKind(kind, schema, name)).join(" | ") || "Any";
  }

  /** The schema that a reference names. */
  resolve(schema: Schema): Schema {
    return schema.$ref === undefined ? schema : (this.#schemas.get(this.typeOf(schema, "")) ?? {});
  }

  print(): string {
    return [...this.#texts.values()].join("\n\n");
  }

  #typeOfKind(kind: string, schema: Schema, name: string): string {
    if (kind === "array") return `list[${this.typeOf(schema.items ?? {}, `${name}Item`)}]`;
    if (kind !== "object") return SCALARS[kind] ?? "Any";
    if (schema.properties !== undefined) {
      this.add(name, schema);
      return name;
    }
    const { additionalProperties: values } = schema;
    return `dict[str, ${typeof values === "object" ? this.typeOf(values, `${name}Value`) : "Any"}]`;
  }

  #printObject(name: string, schema: Schema & { properties: Record<string, Schema> }): string {
    const fields = Object.entries(schema.properties).map(([field, property]) => {
      const type = this.typeOf(property, name + pascal(field));
      return [field, schema.required?.includes(field) === true ? type : `NotRequired[${type}]`];
    });
    if (fields.some(([field = ""]) => WORDS.has(field))) {
      const entries = fields.map(([field, type = ""]) => `        "${field}": ${quote(type)},\n`);
      return `${name} = TypedDict(\n    "${name}",\n    {\n${entries.join("")}    },\n)\n`;
    }
    const lines = fields.map(([field, type]) => `    ${field}: ${type}\n`).join("");
    const text =
      schema.description === undefined ? "" : `    """${docstring(schema.description)}"""\n`;
    return `class ${name}(TypedDict):\n${text}${text && lines && "\n"}${lines || "    pass\n"}`;
  }
}

/** The name of an argument of a function: words of Python end with an underscore. */
export const argument = (name: string): string => (WORDS.has(name) ? `${name}_` : name);

/** `links.create_many`, `create-link` or `createLink` as `LinksCreateMany` or `CreateLink`. */
export const pascal = (text: string): string =>
  text.replaceAll(/(?:^|[._-])(?<first>[a-z0-9])/g, (_, first: string) => first.toUpperCase());

export const docstring = (text: string): string =>
  text.replaceAll("\\", "\\\\").replaceAll('"""', "'''");

/** Tells the options of a union apart by the type that they name. */
function suffixOf({ properties }: Schema, i: number): string {
  const { const: type } = properties?.["type"] ?? {};
  return typeof type === "string" ? pascal(type) : `Option${i + 1}`;
}

const quote = (type: string): string => `'${type.replaceAll("'", '"')}'`;

const literal = (value: unknown): string =>
  typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value);
