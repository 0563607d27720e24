/** Goal: a takedown holds also while processes of a version without takedowns still run. */
import { expect, test } from "bun:test";

import * as z from "zod";

import { admin, createAccount } from "../harness/admin.ts";
import { call, callOnce } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { startApi, startRedirector } from "../harness/processes.ts";
import { useStack } from "../harness/shared-stack.ts";
import { PROJECT_DIR } from "../harness/stack.ts";
import { extractProgramBefore } from "../upgrade/old-program.ts";

/** The last version without it has links with settings, and no takedowns. */
const ADDED = "api/takedowns/service.ts";

const linkSchema = z.looseObject({ id: z.string(), alias: z.string() });

const old = extractProgramBefore(PROJECT_DIR, ADDED);
if (old === undefined)
  console.warn(`\n!!! Not tested beside the version before ${ADDED}: this copy has no history\n`);

test.skipIf(old === undefined)(
  "processes of the version before neither redirect what is taken down nor lift it",
  async () => {
    await using stack = await useStack();
    await using cleanup = new AsyncDisposableStack();
    cleanup.defer(() => old?.remove());
    const services = { ...stack, root: old?.root ?? "" };
    const second = await startRedirector(stack);
    cleanup.defer(second.stop);
    const oldRedirector = await startRedirector(services);
    cleanup.defer(oldRedirector.stop);
    const oldApi = await startApi(services);
    cleanup.defer(oldApi.stop);
    const { key } = await createAccount(stack, "enterprise");
    const create = async (body: Record<string, unknown>) => {
      const url = `${stack.info().api_url}/v1/links`;
      const created = await call(url, { key, body: { url: "https://example.com/", ...body } });
      return linkSchema.parse(created.body);
    };
    const [plain, rich] = [await create({}), await create({ disabled: true })];
    for (const { alias } of [plain, rich])
      await admin(stack, ["links", "disable", "--alias", alias]);
    await eventually(
      async () => expect((await callOnce(`${oldRedirector.url}/${plain.alias}`)).status).toBe(404),
      10_000,
    );
    for (const { id } of [plain, rich])
      for (const [method, body] of [
        ["PATCH", { title: "x" }],
        ["DELETE", undefined],
      ] as const) {
        const response = await callOnce(`${oldApi.url}/v1/links/${id}`, {
          key,
          method,
          ...(body === undefined ? {} : { body }),
        });
        expect([method, response.status]).toEqual([method, 503]);
      }
    const bulk = await callOnce(`${oldApi.url}/v1/links/bulk`, {
      key,
      body: { links: [{ url: "https://example.com/old" }] },
    });
    expect([bulk.status, bulk.body]).toEqual([200, expect.anything()]);
    for (const origin of [stack.info().short_url, second.url])
      for (const { alias } of [plain, rich])
        await eventually(
          async () => expect((await callOnce(`${origin}/${alias}`)).status).toBe(451),
          10_000,
        );
  },
);
