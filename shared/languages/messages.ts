/** Texts of a language as functions, which format its messages (ICU MessageFormat). */
import compile from "icu-minify/compile";
import format from "icu-minify/format";

/** Messages by name, in groups. */
export type Messages = { readonly [name: string]: string | Messages };

/** Returns the text of a message with values in place of its placeholders. */
export type Text = (values?: Readonly<Record<string, string | number>>) => string;

/** The texts of messages, by the same names and in the same groups. */
export type Texts<Group> = {
  readonly [Name in keyof Group]: Group[Name] extends string ? Text : Texts<Group[Name]>;
};

/**
 * Returns the texts of messages in a language, by its code. Each message is parsed when its text is
 * first used; a text throws if its message cannot be parsed.
 */
export function createTexts<Group extends Messages>(code: string, messages: Group): Texts<Group> {
  const formatters = createFormatters(code);
  const toText = (message: string): Text => {
    let compiled: ReturnType<typeof compile> | undefined;
    return (values) => {
      compiled ??= compile(message);
      const text = format(compiled, code, { ...values }, { formatters });
      if (typeof text !== "string") throw new Error(`A message is no plain text: ${message}`);
      return text;
    };
  };
  const toTexts = (group: Messages): object =>
    Object.fromEntries(
      Object.entries(group).map(([name, entry]) => [
        name,
        typeof entry === "string" ? toText(entry) : toTexts(entry),
      ]),
    );
  // The type of Object.fromEntries loses the names of `messages`.
  return toTexts(messages) as Texts<Group>;
}

/** The formatters of a language, each created once. Messages choose no formats of their own. */
function createFormatters(code: string): Parameters<typeof format>[3]["formatters"] {
  let plurals: Intl.PluralRules | undefined;
  let numbers: Intl.NumberFormat | undefined;
  return {
    getPluralRules: () => (plurals ??= new Intl.PluralRules(code)),
    getNumberFormat: () => (numbers ??= new Intl.NumberFormat(code)),
    getDateTimeFormat: (locales, options) => new Intl.DateTimeFormat(locales, options),
  };
}
