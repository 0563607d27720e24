/** Texts of a language as functions, which format its messages (ICU MessageFormat). */
import compile from "icu-minify/compile";
import format, { type CompiledMessage } from "icu-minify/format";

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
export function textsOf<Group extends Messages>(code: string, messages: Group): Texts<Group> {
  const formatters = new Formatters(code);
  const toText = (message: string): Text => {
    let compiled: CompiledMessage | undefined;
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
class Formatters {
  readonly #code: string;
  #plurals: Intl.PluralRules | undefined;
  #numbers: Intl.NumberFormat | undefined;

  constructor(code: string) {
    this.#code = code;
  }

  getPluralRules(): Intl.PluralRules {
    return (this.#plurals ??= new Intl.PluralRules(this.#code));
  }

  getNumberFormat(): Intl.NumberFormat {
    return (this.#numbers ??= new Intl.NumberFormat(this.#code));
  }

  getDateTimeFormat(
    locales?: Intl.LocalesArgument,
    options?: Intl.DateTimeFormatOptions,
  ): Intl.DateTimeFormat {
    return new Intl.DateTimeFormat(locales, options);
  }
}
