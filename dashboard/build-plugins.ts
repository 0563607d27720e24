/** What the build of the dashboard computes, so that pages need not. */
import type { BunPlugin } from "bun";
import compile from "icu-minify/compile";

import * as shapes from "../shared/statistics/world-shapes.ts";

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

/** Messages are compiled, so that the page needs no parser; the development server parses them. */
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

/** The shapes of the world map as they are drawn, without the geography behind them. */
export const drawnShapes: BunPlugin = {
  name: "drawn shapes",
  setup(build) {
    build.onLoad({ filter: /shared\/statistics\/world-shapes\.ts$/ }, () => {
      const { findShapes, WIDTH, HEIGHT } = shapes;
      const contents = `
        const shapes = ${JSON.stringify(findShapes())};
        export const findShapes = () => shapes;
        export const WIDTH = ${WIDTH};
        export const HEIGHT = ${HEIGHT};`;
      return { contents, loader: "js" };
    });
  },
};
