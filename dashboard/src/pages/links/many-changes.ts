/** Changes of many links that depend on what each link has. */
import type { Link, LinkChange } from "../../../../clients/typescript/src/index.ts";
import { UTM_NAMES, type UtmName } from "../../../../shared/contracts/utm.ts";

export type UtmTexts = Readonly<Record<UtmName, string>>;

export const NO_UTM: UtmTexts = {
  utm_source: "",
  utm_medium: "",
  utm_campaign: "",
  utm_term: "",
  utm_content: "",
};

/** The change to typed UTM parameters: an empty one stays as it is, or is removed. */
export const toUtmChange = (texts: UtmTexts, removesEmpty: boolean): LinkChange =>
  Object.fromEntries(
    UTM_NAMES.flatMap((name) => {
      const value = texts[name].trim();
      const next = value === "" ? null : value;
      return next === null && !removesEmpty ? [] : [[name, next]];
    }),
  );

/** A destination with each occurrence of a text replaced; both texts are taken as they are. */
export const replaceIn = (url: string, find: string, replacement: string): string =>
  find === "" ? url : url.replaceAll(find, () => replacement);

/** The links whose destination a replacement changes. */
export const findReplaced = (links: readonly Link[], find: string, replacement: string): Link[] =>
  links.filter(({ original_url: url }) => replaceIn(url, find, replacement) !== url);
