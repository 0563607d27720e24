/**
 * Runs before the page of a build is painted. Applies the theme, and requests what the page needs
 * first while its application loads.
 */
import { applyTheme, preferredLanguage, readTheme } from "../preferences.ts";
import { modulesOf, pathsOfFirstRequests } from "./page-needs.ts";

/** The scripts that a module needs, its own included, by its path; defined by the build. */
declare const SCRIPTS: Readonly<Record<string, readonly string[]>>;

applyTheme(readTheme());
for (const path of ["/auth/session", ...pathsOfFirstRequests(location)]) requestEarly(path);
for (const module of modulesOf(location.pathname, preferredLanguage()))
  for (const name of SCRIPTS[module] ?? []) preload(`/${name}`);

/** Sends a request, whose response the application's first request for the path uses. */
function requestEarly(path: string): void {
  const response = fetch(path);
  // The application handles the failure.
  response.catch(() => undefined);
  (globalThis.earlyResponses ??= new Map()).set(path, { response, at: performance.now() });
}

function preload(href: string): void {
  const link = document.createElement("link");
  Object.assign(link, { rel: "modulepreload", crossOrigin: "", href });
  document.head.append(link);
}
