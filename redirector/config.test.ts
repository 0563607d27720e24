/** Goal: a page template that cannot be used stops the start and names its variable. */
import { describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { ConfigError, loadConfig } from "../shared/env.ts";
import { publicKeyOf } from "../shared/links-log/signature.ts";
import { dirForFile } from "../test/harness/for-file.ts";
import { SIGNING_KEY } from "../test/harness/links-log.ts";
import { configSchema, getTlsFiles, readConnectionsLimit } from "./config.ts";
import { ErrorPages } from "./pages/error-pages.ts";

const dir = dirForFile("shorthop-config-");

async function loadPages(template: string | undefined) {
  const path = join(dir, "template.html");
  rmSync(path, { force: true });
  if (template !== undefined) writeFileSync(path, template);
  const config = loadConfig(configSchema, {
    NATS_URL: "nats://127.0.0.1:4222",
    LINKS_PUBLIC_KEYS: publicKeyOf(SIGNING_KEY),
    SHORT_URL: "https://sho.rt",
    JOURNAL_DIR: dir,
    PAGE_TEMPLATE_FILE: path,
  });
  return await ErrorPages.load(config);
}

const PLACEHOLDERS = "<title>{{title}}</title>{{content}}";

describe("a page template", () => {
  test("of 200 KB is used", async () => {
    const pages = await loadPages(PLACEHOLDERS + "é".repeat(100 * 1024));
    const language = { start: 0, end: 0 };
    const { body } = pages.of({ bytes: Buffer.alloc(0), language }).message("not_found");
    expect(body.length).toBeGreaterThan(200 * 1024);
  });

  test.each([
    ["that does not exist", undefined],
    ["without a placeholder for the text", "{{title}}"],
    ["that is too large", PLACEHOLDERS + "x".repeat(1024 ** 2)],
    ["that is too large in characters of several bytes", PLACEHOLDERS + "é".repeat(200 * 1024)],
    ["that makes pages too large", PLACEHOLDERS + "{{content}}".repeat(20_000)],
    ["with too many styles", PLACEHOLDERS + "<style>a{}</style>".repeat(100)],
  ])("%s stops the start", async (_name, template) => {
    const failed = await loadPages(template).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(ConfigError);
    expect(String(failed)).toContain("PAGE_TEMPLATE_FILE: ");
  });
});

test("relative names of TLS files are systemd credentials", () => {
  const env = {
    NATS_URL: "nats://localhost",
    LINKS_PUBLIC_KEYS: publicKeyOf(SIGNING_KEY),
    SHORT_URL: "https://sho.rt",
    JOURNAL_DIR: "/x",
  };
  const files = { TLS_CERT_FILE: "tls_cert.pem", TLS_KEY_FILE: "/keys/key.pem" };
  const credentials = { CREDENTIALS_DIRECTORY: "/run/credentials/x" };
  const config = loadConfig(configSchema, { ...env, ...files, ...credentials });
  expect(getTlsFiles(config)).toEqual({
    cert: "/run/credentials/x/tls_cert.pem",
    key: "/keys/key.pem",
  });
});

const limits = (files: string) => () =>
  `Max processes             95945                95945                processes \nMax open files            1024                 ${files}               files     \nMax locked memory         8388608              8388608              bytes     \n`;

// Goal: a redirector never accepts more connections than it may open files.
test.each([
  ["20000", 20_000 - 256],
  ["100", 1],
  ["unlimited", Infinity],
])("of %s open files, some are left for other things than connections", (files, connections) => {
  expect(readConnectionsLimit(limits(files))).toBe(connections);
});

test("systems that do not tell have no limit", () => {
  expect(readConnectionsLimit(() => "")).toBe(Infinity);
});
