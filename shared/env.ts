/**
 * Reads a process's configuration from its environment, once, at the start. One error names every
 * invalid variable, so that an operator can fix all of them at once.
 */
import * as z from "zod";

import { toAsciiHost } from "./contracts/host-names.ts";

/** The configuration is invalid; the message names each invalid variable. */
export class ConfigError extends Error {
  override name = "ConfigError";
}

/** The placeholder for secrets in the example configurations, also within a URL. */
export const PLACEHOLDER = /\bchange[-_]?me/i;

/**
 * Parses `env` by `schema`, without the white space at the ends of values, as secrets from a file
 * end with a line's end. Variables that are empty then count as not set. Throws {@link ConfigError}
 * with one line `NAME: reason` per problem, also for a variable that still has the placeholder of
 * an example.
 */
export function loadConfig<Schema extends z.ZodObject>(
  schema: Schema,
  env: Record<string, string | undefined>,
): z.output<Schema> {
  const trimmed = Object.entries(env).map(([name, value]) => [name, value?.trim()] as const);
  const present = Object.fromEntries(trimmed.filter(([, value]) => value !== ""));
  const parsed = schema.safeParse(present);
  const issues = (parsed.error?.issues ?? []).map(
    ({ path, message }) => `${path.join(".")}: ${message}`,
  );
  const placeholders = Object.keys(schema.shape)
    .filter((name) => PLACEHOLDER.test(present[name] ?? ""))
    .map((name) => `${name}: must not be the placeholder of the example`);
  if (parsed.success && placeholders.length === 0) return parsed.data;
  const lines = [...issues, ...placeholders].map((line) => `  ${line}`);
  throw new ConfigError(`The configuration is not valid:\n${lines.join("\n")}`);
}

const port = z.coerce.number("must be a port number").int().min(0).max(65_535);

/** A TCP port; with 0 the operating system chooses a free one. */
export const envPort = (fallback: number) => port.default(fallback);

/** A TCP port whose default depends on other variables. */
export const envOptionalPort = () => port.optional();

/** The most processes of a kind on one host, by their numbers: more than any host has cores. */
export const INSTANCES_MAX = 399;

/**
 * The number of this process among those of its kind on the host, from 1; undefined when it is the
 * only one.
 */
export const envInstance = () =>
  z.coerce.number("must be a whole number").int().min(1).max(INSTANCES_MAX).optional();

/**
 * The metrics ports of a process: that of a single one, and the number that instances add theirs
 * to.
 */
export type MetricsPorts = { single: number; instances: number };

/** The metrics port: as configured, else a different one for each instance on the host. */
export const metricsPort = (
  configured: number | undefined,
  instance: number | undefined,
  { single, instances }: MetricsPorts,
): number => configured ?? (instance === undefined ? single : instances + instance);

/** A whole number within bounds. */
export const envInteger = (fallback: number, min: number, max: number) =>
  z.coerce.number("must be a whole number").int().min(min).max(max).default(fallback);

/** `true` or `false`. */
export const envBoolean = (fallback: boolean) =>
  z
    .enum(["true", "false"], "must be true or false")
    .default(fallback ? "true" : "false")
    .transform((value) => value === "true");

/** A comma-separated list; whitespace around items is trimmed. */
export const envList = (fallback = "") =>
  z
    .string()
    .default(fallback)
    .transform((value) =>
      value
        .split(",")
        .map((item) => item.trim())
        .filter((item) => item !== ""),
    );

/** A URL of one of the given schemes, e.g. `["nats", "tls"]`. */
export const envUrl = (schemes: readonly string[]) =>
  z
    .string(`must be set to a ${schemes.join(" or ")} URL`)
    .refine(
      (value) => URL.canParse(value) && schemes.includes(new URL(value).protocol.slice(0, -1)),
      `must be a ${schemes.join(" or ")} URL`,
    );

/** The lowest level that a process logs. */
export const envLogLevel = z
  .enum(["trace", "debug", "info", "warn", "error", "fatal"])
  .default("info");

/** A comma-separated list of hosts, in any script. */
export const envHosts = () => envList().transform((hosts) => hosts.map(toAsciiHost));
