import { describe, expect, test } from "bun:test";

import type { Link, LinkChange } from "../../../../clients/typescript/src/index.ts";
import { fullLink } from "../../../../test/harness/full-link.ts";
import { NO_UTM, replaceIn, toUtmChange } from "./bulk-dialogs.tsx";
import { type BulkTask, changeTags, toOutcome, undoOf } from "./bulk-task.tsx";

const newLink = (id: string, settings: Partial<Link> = {}): Link => fullLink({ id, ...settings });

const [a, b, c] = [newLink("a"), newLink("b"), newLink("c")] as const;

describe("the outcome of a bulk action", () => {
  test("names each link that failed, with the reason, whatever the order of the response", () => {
    const entries = [
      { index: 2 },
      { index: 0, error: { code: "forbidden" as const, message: "Taken down." } },
      { index: 1 },
    ];
    expect(toOutcome([a, b, c], entries)).toEqual({
      done: [b, c],
      failed: [{ link: a, reason: "Taken down." }],
    });
  });

  test("counts no link as done that the response does not mention", () => {
    const { done, failed } = toOutcome([a, b], [{ index: 0 }]);
    expect(done).toEqual([a]);
    expect(failed.map(({ link }) => link)).toEqual([b]);
  });
});

type Change = LinkChange & { domain?: string | null };

const taskOf = (change: Change): BulkTask => ({
  links: [a],
  verb: "changed",
  changeOf: () => change,
});

const LATER = "2029-01-01T00:00:00.000Z";

describe("the undoing of a bulk action", () => {
  test.each<[string, Change, Partial<Link>, undo: object, undoOfOther: object]>([
    [
      "what was changed, and only that",
      { archived: true, expires_at: "2030-01-01T00:00:00Z", tags: ["x"] },
      { archived: true, tags: ["y"], expires_at: LATER, title: "Other" },
      { archived: null, expires_at: null, tags: [] },
      { archived: true, expires_at: LATER, tags: ["y"] },
    ],
    [
      "destinations and UTM parameters",
      { url: "https://other.example/", utm_source: "x" },
      { utm_source: "y" },
      { url: a.original_url, utm_source: null },
      { url: a.original_url, utm_source: "y" },
    ],
    [
      "the domain",
      { domain: "x.example" },
      { domain: "y.example" },
      { domain: null },
      { domain: "y.example" },
    ],
  ])("sets %s to what each link had", (_, change, other, ...undone) => {
    const undo = undoOf(taskOf(change), [a, newLink("d", other)]);
    expect(undo?.links.map((link) => undo.changeOf?.(link))).toEqual(undone as never);
  });

  test("is not offered for what cannot be undone", () => {
    expect(undoOf({ links: [a], verb: "deleted" }, [a])).toBeUndefined();
    expect(undoOf(taskOf({ password: "secret" }), [a])).toBeUndefined();
  });
});

describe("tags of several links", () => {
  test("are added and removed without those that a link has beside them", () => {
    expect(changeTags(["a", "b"], { add: ["c", "a"], remove: ["b"] })).toEqual(["a", "c"]);
    expect(changeTags([], { add: [], remove: ["b"] })).toEqual([]);
    expect(changeTags(["b"], { add: ["b"], remove: ["b"] })).toEqual(["b"]);
  });
});

describe("find and replace in a destination", () => {
  test.each([
    ["https://old.example/a", "old.example", "new.example", "https://new.example/a"],
    ["https://a.example/x/x?x=x", "/x", "/y", "https://a.example/y/y?x=x"],
    ["https://a.example/?q=1+1", "1+1", "2", "https://a.example/?q=2"],
    ["https://a.example/(a)", "(a)", "$&$1", "https://a.example/$&$1"],
    ["https://a.example/Sale", "sale", "x", "https://a.example/Sale"],
    ["https://a.example/a?ref=x", "?ref=x", "", "https://a.example/a"],
    ["https://a.example/", "", "x", "https://a.example/"],
  ])("%s: %p by %p gives %s", (url, find, replacement, expected) => {
    expect(replaceIn(url, find, replacement)).toBe(expected);
  });
});

describe("UTM parameters of many links", () => {
  const typed = { ...NO_UTM, utm_source: " mail ", utm_campaign: "spring" };
  test.each([
    ["those left empty stay", typed, false, { utm_source: "mail", utm_campaign: "spring" }],
    ["nothing typed changes nothing", NO_UTM, false, {}],
    [
      "those left empty are removed",
      typed,
      true,
      {
        utm_source: "mail",
        utm_medium: null,
        utm_campaign: "spring",
        utm_term: null,
        utm_content: null,
      },
    ],
  ] as const)("%s", (_, texts, removesEmpty, change) => {
    expect(toUtmChange(texts, removesEmpty)).toEqual(change);
  });
});
