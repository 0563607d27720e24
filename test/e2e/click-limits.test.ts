/** Goal: a limited link leads on as often as it may, and what is left of its limit can be had. */
import { expect, test } from "bun:test";

import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { DESTINATION, OwnLinks, RECOVERY_MS } from "../harness/own-links.ts";
import { useStack } from "../harness/stack.ts";

const stack = await forFile(useStack());
const links = await OwnLinks.start(stack);
// A redirector leases no click in the first seconds after its start.
const { alias } = await links.create({ max_clicks: 1 });
expect((await links.followSettled(alias)).status).toBe(302);

test("a limited link leads on as often as it may, then to its own URL for that, and says so", async () => {
  const { id, alias } = await links.create({
    max_clicks: 2,
    expired_url: "https://example.com/over",
  });
  for (let i = 0; i < 2; i++) {
    const response = await links.followSettled(alias);
    expect([response.status, response.headers.get("location")]).toEqual([302, DESTINATION]);
  }
  const over = await links.followSettled(alias);
  expect(over.headers.get("location")).toBe("https://example.com/over");
  await eventually(
    async () =>
      expect(await links.read(id)).toMatchObject({ status: "limit_reached", clicks_left: 0 }),
    RECOVERY_MS,
  );
  await links.change(id, { expired_url: null });
  await eventually(async () => expect((await links.follow(alias)).status).toBe(410), RECOVERY_MS);
  // It reopens when the limit is raised, and has no limit without one.
  await links.change(id, { max_clicks: 3 });
  await eventually(async () => expect((await links.follow(alias)).status).toBe(302), RECOVERY_MS);
  await eventually(async () => expect((await links.follow(alias)).status).toBe(410), RECOVERY_MS);
  await links.change(id, { max_clicks: null });
  await eventually(async () => expect((await links.follow(alias)).status).toBe(302), RECOVERY_MS);
});
