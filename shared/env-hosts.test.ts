import { expect, test } from "bun:test";

import * as z from "zod";

import { envHosts } from "./env-hosts.ts";
import { loadConfig } from "./env.ts";

test("hosts of a configuration are those that requests name, in whatever script they are set", () => {
  const schema = z.object({ HOSTS: envHosts() });
  expect(loadConfig(schema, { HOSTS: "Bücher.de, WWW.sho.rt.,[::1]" })).toEqual({
    HOSTS: ["xn--bcher-kva.de", "www.sho.rt", "[::1]"],
  });
  expect(loadConfig(schema, {})).toEqual({ HOSTS: [] });
});
