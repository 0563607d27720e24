/** Goal: a write answers what was set, as a read of the link does. */
import { describe, expect, test } from "bun:test";

import { encodeId, newUuid } from "../../shared/ids.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { linkRow } from "../../test/harness/link-row.ts";
import { anyVersion, startPostgres, upsertLink } from "../../test/harness/postgres.ts";
import type { CreateLinkBody, LinkRow, UpdateLinkBody } from "./model.ts";
import { fullLink, linkEtag, linkResponse, toFullLink, toLink } from "./responses.ts";
import type { LinkResults } from "./results.ts";

const SHORT_URL = "https://sho.rt";

const SETTINGS: UpdateLinkBody = {
  utm_source: "news",
  forward_query: true,
  starts_at: "2090-01-01T00:00:00.000Z",
  expired_url: "https://example.com/over",
  rules: [
    { url: "https://example.com/de", conditions: [{ type: "country", in: ["DE"] }] },
    { url: "https://example.com/ios", conditions: [{ type: "os", in: ["iOS"] }] },
  ],
  split: { arms: [{ url: "https://example.com/b", weight: 30 }] },
  preview: { title: "Spring sale" },
  forward_path: "append",
  max_clicks: 5,
  limit_counts: "human",
  confirm: true,
  archived: true,
};

const postgres = await forFile(startPostgres());
const owner = await postgres.addWriter();

const firstOf = ({ results: [result] }: LinkResults): LinkRow => {
  if (result === undefined || !("link" in result)) throw new Error("The row failed.");
  return result.link;
};

const body: CreateLinkBody = { ...SETTINGS, url: "https://example.com/" };

const create = async () => (await postgres.links.create(owner, newUuid(), body)).link;

const WRITES: Record<string, () => Promise<LinkRow>> = {
  create,
  createMany: async () => firstOf(await postgres.links.createMany(owner, newUuid(), [body])),
  update: async () =>
    (await postgres.links.update(owner, (await create()).id, SETTINGS, anyVersion)).link,
  updateMany: async () => {
    const id = encodeId("link", (await create()).id);
    return firstOf(await postgres.links.updateMany(owner, [{ id, ...SETTINGS }]));
  },
  upsert: async () => (await upsertLink(postgres.links, owner, newUuid(), body)).link,
};

describe.each(Object.entries(WRITES))("the answer to %s", (_, write) => {
  test("has every setting that is on, with ids of rules and arms, the status and the clicks left", async () => {
    const answer = linkResponse.parse(toLink(await write(), SHORT_URL));
    const { utm_source: _source, forward_query: _query, ...shown } = SETTINGS;
    expect(answer).toMatchObject({
      ...shown,
      rules: SETTINGS.rules?.map((rule) => ({
        ...rule,
        id: expect.stringMatching(/^rule_/),
      })),
      split: { arms: [{ id: expect.stringMatching(/^arm_/), weight: 30 }] },
      status: "scheduled",
      clicks_left: 5,
    });
    expect(JSON.stringify(answer)).not.toMatch(/utm|forward_query|has_password/);
  });

  test("is what a read answers", async () => {
    const row = await write();
    const read = await postgres.links.get(owner, row.id);
    for (const include of [undefined, "settings"] as const) {
      const full = fullLink.parse(toFullLink(read, SHORT_URL, include));
      expect(fullLink.parse(toFullLink(row, SHORT_URL, include))).toEqual(full);
      expect(full).toMatchObject(linkResponse.parse(toLink(row, SHORT_URL, include)));
      if (include === "settings") expect(toLink(row, SHORT_URL, include)).toEqual(full);
    }
  });

  test("is what a list has", async () => {
    const row = await write();
    const order = { sort: "created_at", order: "desc", limit: 1 } as const;
    const part = { limit: 1, after: null };
    const { rows } = await postgres.links.list(owner, { ...order, archived: "any" }, part);
    expect(rows.map((listed) => toLink(listed, SHORT_URL))).toEqual([toLink(row, SHORT_URL)]);
  });
});

test("a replacement that says nothing of a setting switches it off", async () => {
  const externalId = newUuid();
  const replace = async (fields: CreateLinkBody) =>
    (await upsertLink(postgres.links, owner, externalId, fields)).link;
  const others = {
    title: "t",
    notes: "n",
    tags: ["t"],
    password: "p",
    expires_at: "2091-01-01T00:00:00Z",
  };
  const { preview: _, ...withPassword } = SETTINGS;
  await replace({ ...withPassword, ...others, url: body.url, utm_term: "u", disabled: true });
  await replace({ ...SETTINGS, url: body.url });
  const row = await replace({ url: body.url });
  const fresh = (await postgres.links.create(owner, newUuid(), { url: body.url })).link;
  const { id, alias, version, created_at, updated_at } = row;
  expect(row).toEqual({
    ...fresh,
    external_id: externalId,
    id,
    alias,
    version,
    created_at,
    updated_at,
  });
});

test("a link has another ETag after a click that no counter shows", () => {
  const row = linkRow({ clicks: 5, last_click_at: new Date(1_000) });
  expect(linkEtag({ ...row, last_click_at: new Date(1_001) })).not.toBe(linkEtag(row));
});
