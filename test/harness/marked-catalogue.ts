/**
 * A catalogue whose every message is a number in brackets, without letters: a page rendered with it
 * shows which texts are from the catalogue, and which are not.
 */
import compile from "icu-minify/compile";

import { type Catalogue, CATALOGUES } from "../../shared/languages/catalogues.ts";
import type { Messages } from "../../shared/languages/messages.ts";

/** Every message of a catalogue, with its name such as `shares.title`. */
export const listMessages = (messages: Messages, prefix = ""): [name: string, message: string][] =>
  Object.entries(messages).flatMap(([name, entry]) =>
    typeof entry === "string"
      ? [[prefix + name, entry] satisfies [string, string]]
      : listMessages(entry, `${prefix}${name}.`),
  );

/** The names of a message's placeholders and tags, sorted. Throws if it is no ICU message. */
export function listPlaceholders(message: string): string[] {
  const names = new Set<string>();
  /** Of a list of texts, branches, and placeholders; these are lists that begin with their name. */
  function addNames(parts: unknown): void {
    if (!Array.isArray(parts)) return;
    for (const part of parts) {
      if (Array.isArray(part)) {
        names.add(String(part[0]));
        addNames(part.slice(1));
      } else if (typeof part === "object") Object.values(Object(part)).forEach(addNames);
    }
  }
  addNames(compile(message));
  return [...names].toSorted();
}

/** English, each message replaced by its marker and its placeholders. */
export class MarkedCatalogue {
  readonly catalogue: Catalogue;
  readonly #names: string[] = [];

  constructor() {
    const english = CATALOGUES["en"];
    if (english === undefined) throw new Error("There is no English catalogue.");
    // It has the names of English.
    this.catalogue = this.#mark(english, "") as Catalogue;
  }

  /** The names of the messages of a group that none of the pages shows. */
  listUnused(group: keyof Catalogue, pages: readonly string[]): string[] {
    const html = pages.join("\n");
    return this.#names.filter(
      (name, i) => name.startsWith(`${group}.`) && !html.includes(`[${i + 1}]`),
    );
  }

  #mark(messages: Messages, prefix: string): Messages {
    return Object.fromEntries(
      Object.entries(messages).map(([name, entry]) => {
        if (typeof entry !== "string") return [name, this.#mark(entry, `${prefix}${name}.`)];
        const placeholders = listPlaceholders(entry).map((each) => `{${each}}`);
        return [name, `[${this.#names.push(prefix + name)}]${placeholders.join(" ")}`];
      }),
    );
  }
}

const UNSEEN = /<(?:style|script)>.*?<\/(?:style|script)>/gs;
const TEXT_ATTRIBUTE = /\s(?:aria-label|data-label|title|alt|placeholder|label)="([^"]*)"/g;

/** The words of a page: what people see, or hear from a screen reader, less `data`. */
export function listWords(html: string, data: readonly string[] = []): string[] {
  const seen = html.replaceAll(UNSEEN, "");
  const attributes = [...seen.matchAll(TEXT_ATTRIBUTE)].map(([, text = ""]) => text);
  const texts = [seen.replaceAll(/<[^>]*>/g, "\n"), ...attributes].join("\n");
  const own = data.reduce((rest, each) => rest.replaceAll(each, ""), texts);
  return own.replaceAll(/&#?\w+;/g, "").match(/\p{L}+/gu) ?? [];
}
