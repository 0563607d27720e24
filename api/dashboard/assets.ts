/** The dashboard's files: compressed at build time, read once at the start, served from memory. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

type Encoding = "br" | "gzip" | "identity";

type Asset = {
  type: string;
  /** The file's name contains a hash of its content, so it never changes. */
  immutable: boolean;
  bodies: Readonly<Record<Encoding, Uint8Array<ArrayBuffer>>>;
};

export type Assets = ReadonlyMap<string, Asset>;

const PAGE = "/index.html";

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  json: "application/json",
};

/** Reads the output folder of `bun dashboard/build.ts`. Throws when it contains no `index.html`. */
export function readAssets(folder: string): Assets {
  const assets = new Map<string, Asset>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const type = TYPES[entry.name.split(".").at(-1) ?? ""];
    // Skips files that are not served under their own name, such as compressed variants.
    if (type === undefined) continue;
    assets.set(`/${relative(folder, path)}`, {
      type,
      immutable: /-[0-9a-z]{8}\.\w+$/.test(entry.name),
      bodies: {
        identity: read(path),
        br: read(`${path}.br`),
        gzip: read(`${path}.gz`),
      },
    });
  }
  if (!assets.has(PAGE)) throw new Error(`There is no dashboard in ${folder}.`);
  return assets;
}

const read = (path: string): Uint8Array<ArrayBuffer> => new Uint8Array(readFileSync(path));

type AssetResponse = { headers: Record<string, string>; body: Uint8Array<ArrayBuffer> };

/**
 * Finds the file of a path. Returns `index.html` for every other path, which the client-side router
 * resolves.
 */
export function findAsset(
  assets: Assets,
  path: string,
  acceptEncoding: string | null,
): AssetResponse {
  const asset = assets.get(path) ?? assets.get(PAGE);
  if (asset === undefined) throw new Error("The dashboard has no page.");
  const encoding = chooseEncoding(acceptEncoding ?? "");
  return {
    body: asset.bodies[encoding],
    headers: {
      "content-type": asset.type,
      "cache-control": asset.immutable ? "public, max-age=31536000, immutable" : "no-cache",
      vary: "Accept-Encoding",
      ...(encoding === "identity" ? {} : { "content-encoding": encoding }),
    },
  };
}

function chooseEncoding(accepted: string): Encoding {
  const parts = accepted.split(",").filter((part) => !/;\s*q=0(\.0*)?\s*$/.test(part));
  const names = new Set(parts.map((part) => part.split(";")[0]?.trim().toLowerCase()));
  if (names.has("br")) return "br";
  return names.has("gzip") ? "gzip" : "identity";
}
