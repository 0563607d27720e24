import { describe, expect, test } from "bun:test";

import type { Link, LinkChange } from "../../../../clients/typescript/src/index.ts";
import { type BulkTask, changeTags, toOutcome, undoOf } from "./bulk-task.tsx";

const newLink = (id: string, settings: Partial<Link> = {}): Link => ({
  id,
  short_url: `https://sho.rt/${id}`,
  original_url: "https://example.com/",
  alias: id,
  title: null,
  clicks: 0,
  last_click_at: null,
  created_at: "2026-01-01T00:00:00.000Z",
  expires_at: null,
  domain: null,
  tags: [],
  external_id: null,
  ...settings,
});

const [a, b, c] = [newLink("a"), newLink("b"), newLink("c")] as const;

describe("the outcome of a bulk action", () => {
  test("names each link that failed, with the reason, whatever the order of the response", () => {
    const entries = [{ index: 2 }, { index: 0, error: { message: "Taken down." } }, { index: 1 }];
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
      { archived: false, expires_at: null, tags: [] },
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
