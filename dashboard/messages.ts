/**
 * The dashboard's messages in its build: compiled, so that the page needs no parser of ICU
 * messages. The development server and tests parse them instead.
 */
import type { BunPlugin } from "bun";
import compile from "icu-minify/compile";

type Messages = { [name: string]: string | Messages };

/** A message as the page formats it: a text, or a list of texts and placeholders. */
type Compiled = ReturnType<typeof compile> | { [name: string]: Compiled };

/** Compiles a catalogue. Throws for a message that is no ICU message. */
const compileMessages = (messages: string | Messages): Compiled =>
  typeof messages === "string"
    ? compile(messages)
    : Object.fromEntries(
        Object.entries(messages).map(([name, message]) => [name, compileMessages(message)]),
      );

export const compiledMessages: BunPlugin = {
  name: "compiled messages",
  setup(build) {
    build.onResolve({ filter: /^use-intl\/format-message$/ }, () => ({
      path: Bun.fileURLToPath(import.meta.resolve("use-intl/format-message/format-only")),
    }));
    build.onLoad(
      { filter: /(dashboard\/src|shared)\/languages\/(statistics\/)?[\w-]+\.json$/ },
      async ({ path }) => {
        const messages: Messages = await Bun.file(path).json();
        return { contents: JSON.stringify(compileMessages(messages)), loader: "json" };
      },
    );
  },
};
