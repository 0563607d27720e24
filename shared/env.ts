/**
 * Reads a process's configuration from its environment, once, at the start.
 * Every bad variable is named in one error, so that an operator mends all of them in one go.
 */
import * as z from "zod";

/** The environment does not hold a valid configuration; the message names each bad variable. */
export class ConfigError extends Error {
  override name = "ConfigError";
}

/**
 * Parses `env` by `schema`. Variables set to the empty string count as not set.
 * Throws {@link ConfigError} with one `NAME: why` line for every problem.
 */
export function loadConfig<Schema extends z.ZodType>(
  schema: Schema,
  env: Record<string, string | undefined>,
): z.output<Schema> {
  const present = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ""));
  const parsed = schema.safeParse(present);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map((issue) => `  ${issue.path.join(".")}: ${issue.message}`);
  throw new ConfigError(`The configuration is not valid:\n${lines.join("\n")}`);
}

/** A TCP port; 0 lets the system choose a free one. */
export const envPort = (fallback: number) =>
  z.coerce.number("must be a port number").int().min(0).max(65_535).default(fallback);

/** A whole number within bounds. */
export const envInteger = (fallback: number, min: number, max: number) =>
  z.coerce.number("must be a whole number").int().min(min).max(max).default(fallback);

/** `true` or `false`. */
export const envBoolean = (fallback: boolean) =>
  z
    .enum(["true", "false"], "must be true or false")
    .default(fallback ? "true" : "false")
    .transform((value) => value === "true");

/** A comma-separated list; blanks around the items are dropped. */
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

/** The level below which a process logs nothing. */
export const envLogLevel = z
  .enum(["trace", "debug", "info", "warn", "error", "fatal"])
  .default("info");
