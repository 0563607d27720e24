/**
 * Shlink's web interface as it is in the registry of npm, on a page that has nothing else. It is
 * installed with exact versions into `.local`: its packages take 230 MB, which nobody else needs.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { makeOnce } from "../../shared/process-lock.ts";
import { run } from "./packed-client.ts";
import { PROJECT_DIR } from "./stack.ts";

/** The newest versions that its peer dependencies allow together. */
const PACKAGES = {
  "@shlinkio/shlink-web-component": "0.18.0",
  "@shlinkio/shlink-frontend-kit": "1.4.0",
  "@shlinkio/shlink-js-sdk": "3.2.1",
  "@fortawesome/fontawesome-svg-core": "7.3.1",
  "@fortawesome/free-brands-svg-icons": "7.3.1",
  "@fortawesome/free-regular-svg-icons": "7.3.1",
  "@fortawesome/free-solid-svg-icons": "7.3.1",
  "@fortawesome/react-fontawesome": "3.5.0",
  "@reduxjs/toolkit": "2.15.0",
  "@tailwindcss/cli": "4.3.5",
  react: "19.3.1",
  "react-dom": "19.3.1",
  "react-redux": "9.3.1",
  "react-router": "7.18.7",
  tailwindcss: "4.3.5",
};

/** As its README says. */
const PROGRAM = `
import { ShlinkApiClient } from "@shlinkio/shlink-js-sdk";
import { FetchHttpClient } from "@shlinkio/shlink-js-sdk/fetch";
import { ShlinkWebComponent } from "@shlinkio/shlink-web-component";
import { createElement } from "react";
import { createRoot } from "react-dom/client";

const server = JSON.parse(document.getElementById("server").textContent);
const apiClient = new ShlinkApiClient(new FetchHttpClient(), server);
const { version: serverVersion } = await apiClient.health();
const settings = { realTimeUpdates: { enabled: false } };
createRoot(document.getElementById("root")).render(
  createElement(ShlinkWebComponent, { serverVersion, apiClient, settings }),
);
`;

const STYLES = `
@import "tailwindcss";
@import "@shlinkio/shlink-frontend-kit/tailwind.preset.css";
@import "@shlinkio/shlink-web-component/tailwind.preset.css";
@source "node_modules/@shlinkio/*/dist/*.js";
`;

/** Made anew when any of these changes. */
const HASH = Bun.hash(JSON.stringify([PACKAGES, PROGRAM, STYLES])).toString(36);

const DIR = join(PROJECT_DIR, ".local", `shlink-web-${HASH}`);

export class ShlinkWeb implements AsyncDisposable {
  /** The API that its pages use from now on, and the key. */
  server = { baseUrl: "", apiKey: "" };
  readonly #site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    routes: {
      "/page.css": () => new Response(Bun.file(join(DIR, "page.css"))),
      "/page.js": () => new Response(Bun.file(join(DIR, "page.js"))),
    },
    fetch: () => new Response(this.#html(), { headers: { "content-type": "text/html" } }),
  });

  /** Installs and builds the interface if that has not been done, and serves it. */
  static async serve(): Promise<ShlinkWeb> {
    await makeOnce(DIR, build);
    return new ShlinkWeb();
  }

  get origin(): string {
    return this.#site.url.origin;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#site.stop(true);
  }

  #html(): string {
    return `<!doctype html>
<html lang="en">
<meta charset="utf-8"><title>Shlink</title><link rel="stylesheet" href="/page.css">
<script type="application/json" id="server">${JSON.stringify(this.server)}</script>
<body><div id="root"></div><script type="module" src="/page.js"></script>`;
  }
}

async function build(dir: string): Promise<void> {
  mkdirSync(dir, { recursive: true });
  const project = { private: true, type: "module", dependencies: PACKAGES };
  writeFileSync(join(dir, "package.json"), JSON.stringify(project));
  writeFileSync(join(dir, "program.js"), PROGRAM);
  writeFileSync(join(dir, "styles.css"), STYLES);
  const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  run(["npm", "install", ...options], dir);
  run([join(dir, "node_modules/.bin/tailwindcss"), "-i", "styles.css", "-o", "page.css"], dir);
  const { success, logs } = await Bun.build({
    entrypoints: [join(dir, "program.js")],
    outdir: dir,
    naming: "page.[ext]",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  if (!success) throw new Error(logs.map(({ message }) => message).join("\n"));
  rmSync(join(dir, "node_modules"), { recursive: true });
}
