/**
 * The routes of a finished site: which methods a path takes, which query parameters a route, and
 * whether it takes a body.
 */
import * as z from "zod";

import { ApiError, notFound } from "./errors.ts";

export type Route = {
  method: string;
  path: string;
  hooks: { query?: unknown; body?: unknown; detail?: { "x-optional-body"?: unknown } };
};

/** Answered by the framework, and by what allows pages of other origins. */
const IMPLIED: ReadonlySet<string> = new Set(["HEAD", "OPTIONS"]);

/** A parameter that may be any text, also the word of a path: a tag may be named `merge`. */
const ANY_TEXT = /:(?:name|external_id)\b/;

export class RouteTable {
  #routes: readonly Route[] = [];
  /** The methods of each path without a parameter. */
  #methods: ReadonlyMap<string, ReadonlySet<string>> = new Map();
  #inputs: ReadonlyMap<string, { parameters: readonly string[]; body: Body }> = new Map();

  /** Takes over the routes of the site, once all are declared. */
  fill(routes: readonly Route[]): void {
    this.#routes = routes;
    this.#methods = methodsOf(routes);
    this.#inputs = new Map(
      routes.map((route) => [
        `${route.method} ${route.path}`,
        { parameters: parametersOf(route), body: bodyOf(route) },
      ]),
    );
  }

  /** The names of the query parameters that a route takes. */
  parametersOf(method: string, path: string): readonly string[] {
    return this.#inputs.get(`${method === "HEAD" ? "GET" : method} ${path}`)?.parameters ?? [];
  }

  /** Whether a route takes a JSON body, and can be called without one; undefined if not. */
  bodyOf(method: string, path: string): Body {
    return this.#inputs.get(`${method} ${path}`)?.body;
  }

  /**
   * Throws the 405 of a path that exists as it is with other methods: a route with a parameter in
   * the place of its last part would take the part for an id.
   */
  requireMethod(request: Request): void {
    const pathname = URL.parse(request.url)?.pathname ?? "";
    const known = this.#methods.get(pathname);
    if (known === undefined || known.has(request.method) || IMPLIED.has(request.method)) return;
    throw this.#methodNotAllowed(
      pathname,
      this.#routes.filter(({ path }) => path === pathname),
    );
  }

  /** The error of a request without a route: 405 when the path has other methods, else 404. */
  notFound(request: Request): ApiError {
    const { pathname } = new URL(request.url);
    const segments = splitPath(pathname);
    const routes = this.#routes.filter((route) => pathMatches(route.path, segments));
    return routes.length === 0 ? notFound("resource") : this.#methodNotAllowed(pathname, routes);
  }

  #methodNotAllowed(pathname: string, routes: readonly Route[]): ApiError {
    const allow = [...new Set(routes.map(({ method }) => method))].toSorted().join(", ");
    const below = this.#routes.filter(
      ({ path }) => path.startsWith(`${pathname}/`) && !/[:*]/.test(path.slice(pathname.length)),
    );
    const others = [...new Set(below.map(({ method, path }) => `${method} ${path}`))].toSorted();
    const also = others.length === 0 ? "" : `; below it are ${others.join(", ")}`;
    return new ApiError("method_not_allowed", `This resource takes ${allow}${also}.`, {
      headers: { allow },
    });
  }
}

/** The methods of each path that has no parameter, with those of names that the path may be. */
function methodsOf(routes: readonly Route[]): Map<string, Set<string>> {
  const named = routes.filter(({ path }) => ANY_TEXT.test(path));
  const fixed = new Set(routes.map(({ path }) => path).filter((path) => !/[:*]/.test(path)));
  return new Map(
    [...fixed].map((path) => {
      const segments = splitPath(path);
      const own = routes.filter((route) => route.path === path);
      const names = named.filter((route) => pathMatches(route.path, segments));
      return [path, new Set([...own, ...names].map(({ method }) => method))];
    }),
  );
}

type Body = "required" | "optional" | undefined;

function bodyOf({ hooks: { body, detail } }: Route): Body {
  if (body === undefined) return undefined;
  return detail?.["x-optional-body"] === true ? "optional" : "required";
}

const parametersOf = ({ hooks: { query } }: Route): string[] =>
  query instanceof z.ZodObject ? Object.keys(query.shape) : [];

/**
 * Takes the path already split, because a path may have thousands of segments and is compared with
 * every route.
 */
function pathMatches(pattern: string, segments: readonly string[]): boolean {
  const expected = splitPath(pattern);
  return (
    expected.length === segments.length &&
    expected.every((part, i) => (part.startsWith(":") ? segments[i] !== "" : part === segments[i]))
  );
}

const splitPath = (path: string): string[] =>
  (path.endsWith("/") ? path.slice(0, -1) : path).split("/");
