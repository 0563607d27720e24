import { describe, expect, test } from "bun:test";

import * as z from "zod";

import { ConfigError, loadConfig } from "./env.ts";
import { databaseOf, envPostgresUrl, withDatabase } from "./postgres.ts";

const load = (DATABASE_URL: string) =>
  loadConfig(z.object({ DATABASE_URL: envPostgresUrl }), { DATABASE_URL }).DATABASE_URL;

describe("a PostgreSQL URL", () => {
  test.each([
    "postgres://u:p@localhost/shorthop",
    "postgresql://u:p%40ss@db-1:5432,db-2:5433/shorthop?sslmode=require",
    "postgres://u:p@[::1]:5432,[fd00::2]/shorthop",
  ])("may have several hosts with ports: %s", (url) => {
    expect(load(url)).toBe(url);
    expect(databaseOf(url)).toBe("shorthop");
  });

  test.each([
    "mysql://a/b",
    "postgres://",
    "postgres://u:p@a:x,b/c",
    "postgres://u@a,,b/c",
    "db-1",
  ])("is rejected at the start when it is none: %s", (url) =>
    expect(() => load(url)).toThrow(ConfigError),
  );

  test("keeps its hosts, user and options with another database", () => {
    expect(
      withDatabase("postgres://u:p%40ss@a,[::1]:5433/shorthop?sslmode=require", "postgres"),
    ).toBe("postgres://u:p%40ss@a:5432,[::1]:5433/postgres?sslmode=require");
  });
});
