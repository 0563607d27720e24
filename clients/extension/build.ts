/**
 * `bun clients/extension/build.ts`: makes the folder that a browser loads as an extension, and that
 * is zipped for its store.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { Resvg } from "@resvg/resvg-js";

const SOURCE = join(import.meta.dir, "src");
const ICON = join(import.meta.dir, "../../dashboard/src/icon.svg");
const ICON_SIZES = [16, 48, 128];

/** The built extension. */
export const EXTENSION = join(import.meta.dir, "dist");

export async function buildExtension(): Promise<void> {
  rmSync(EXTENSION, { recursive: true, force: true });
  cpSync(SOURCE, EXTENSION, { recursive: true, filter: (path) => !path.endsWith(".ts") });
  await Bun.build({
    entrypoints: ["popup.ts", "options.ts"].map((name) => join(SOURCE, name)),
    outdir: EXTENSION,
    target: "browser",
  });
  mkdirSync(join(EXTENSION, "icons"), { recursive: true });
  const svg = readFileSync(ICON, "utf8");
  for (const size of ICON_SIZES) {
    const image = new Resvg(svg, { fitTo: { mode: "width", value: size } }).render().asPng();
    writeFileSync(join(EXTENSION, `icons/${size}.png`), image);
  }
}

if (import.meta.main) await buildExtension();
