/** Links of a benchmark: random aliases, in no order, and destinations of usual length. */
import { type Change, toChange } from "../../shared/links-store/schema.ts";
import { activeLink } from "../../test/harness/links-log.ts";

export function createLinks(count: number) {
  const aliasOf = (i: number): string => Bun.hash(`${count} ${i}`).toString(36).slice(0, 8);
  return {
    aliasOf,
    changeOf(i: number, version: number): Change {
      return toChange({
        ...activeLink(aliasOf(i), version),
        destination: `https://www.example.com/articles/${i}?source=letter`,
      });
    },
  };
}
