/** The settings of VitePress: parts, search, and anchors as GitHub makes them. */
import { type Entry, REFERENCE, REPOSITORY, type Section, slugify } from "./pages.ts";
import { referencePath } from "./reference.ts";

/** Among the files that VitePress copies. */
const ICON = "/icon.svg";

/** On a busy machine Shiki's limit for a line leaves code half coloured. */
const WITHOUT_TIME_LIMIT = {
  preprocess: (_code: string, options: { tokenizeTimeLimit?: number }) => {
    options.tokenizeTimeLimit = 0;
  },
};

/** `resources` are the pages of the API's reference, below its introduction. */
export const configure = (
  description: string,
  sections: readonly Section[],
  resources: readonly string[],
) => ({
  title: "Shorthop",
  description,
  lang: "en",
  // The search's index has the pages in the order in which they were read.
  buildConcurrency: 1,
  head: [["link", { rel: "icon", href: ICON }]],
  themeConfig: {
    logo: ICON,
    nav: sections.map(({ title, entries }) => ({ text: title, link: entries[0]?.link })),
    sidebar: sections.map(({ title, entries }) => ({
      text: title,
      collapsed: true,
      items: entries.map((entry) => nest(entry, resources)),
    })),
    search: { provider: "local" },
    outline: { level: [2, 3] },
    socialLinks: [{ icon: "github", link: REPOSITORY }],
  },
  // Braces in the text are no attributes.
  markdown: {
    attrs: { disable: true },
    anchor: { slugify },
    codeTransformers: [WITHOUT_TIME_LIMIT],
  },
});

/** The entry with the pages below it, which it hides until one of them is open. */
function nest(entry: Entry, resources: readonly string[]) {
  const items =
    entry.link === `/${REFERENCE}`
      ? resources.map((name) => ({ text: name, link: `/${referencePath(name)}` }))
      : entry.items;
  return items === undefined ? entry : { ...entry, collapsed: true, items };
}
