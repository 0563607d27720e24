/** Goal: the packages contain what an installation needs, with secrets that only root can read. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { manPage } from "./man-page.ts";
import { buildPackages, LIBC_MIN } from "./packages.ts";
import { run } from "./run.ts";

const hasDpkg = Bun.which("dpkg-deb") !== null;
if (!hasDpkg) console.warn("\n!!! dpkg-deb is not installed: the packages are NOT TESTED\n");

const ROOT = join(import.meta.dir, "../..");

describe.skipIf(!hasDpkg)("the packages", () => {
  let dist: string;
  let files: string[];

  beforeAll(() => {
    dist = mkdtempSync(join(tmpdir(), "shorthop-packages-"));
    const tree = join(dist, "tree");
    for (const name of ["bin", "dashboard"]) mkdirSync(join(tree, name), { recursive: true });
    // Instead of the executable and the dashboard, whose builds have tests of their own.
    writeFileSync(join(tree, "bin/shorthop"), "#!/bin/sh\n", { mode: 0o755 });
    symlinkSync("shorthop", join(tree, "bin/shorthop-api"));
    for (const name of [
      "systemd",
      "postgres",
      "nats",
      "clickhouse",
      "caddy",
      "certbot",
      "haproxy",
      "monitoring",
    ])
      cpSync(join(ROOT, "deploy", name), join(tree, name), { recursive: true });
    cpSync(join(ROOT, "docs"), join(tree, "docs"), { recursive: true });
    for (const name of ["CHANGELOG.md", "LICENSE"]) cpSync(join(ROOT, name), join(tree, name));
    writeFileSync(join(tree, "sbom.cdx.json"), "{}");
    writeFileSync(
      join(tree, "shorthop.1"),
      manPage("1.2.3", () => ""),
    );
    const date = new Date(0);
    files = buildPackages(dist, { tree, version: "1.2.3-4", architecture: "arm64", date });
  });
  afterAll(() => rmSync(dist, { recursive: true }));

  const read = (file = "", field = "Depends") =>
    run(["dpkg-deb", "--field", file, field], dist).trim();

  const list = (): string[] =>
    files.flatMap((file) => run(["dpkg-deb", "--contents", file], dist).trim().split("\n"));

  test("have every unit, and each file once", () => {
    const paths = list()
      .filter((line) => !line.startsWith("d"))
      .map((line) => line.split(/\s+/)[5] ?? "");
    expect(new Set(paths).size).toBe(paths.length);
    for (const name of run(["ls", "deploy/systemd"], ROOT).trim().split("\n")) {
      const folder = name.endsWith(".env")
        ? "etc/shorthop"
        : `usr/lib/${name.endsWith(".conf") ? "sysctl.d" : "systemd/system"}`;
      expect(paths).toContain(`./${folder}/${name}`);
    }
    expect(list().join("\n")).toContain("./usr/bin/shorthop -> /opt/shorthop/bin/shorthop");
    expect(list().join("\n")).toContain("./opt/shorthop/bin/shorthop-api -> shorthop");
  });

  test("belong to root, with configuration that only root can read and upgrades keep", () => {
    for (const line of list()) {
      const [mode = "", owner, , , , path = ""] = line.split(/\s+/);
      expect(owner).toBe("root/root");
      if (path.endsWith(".env")) expect(mode).toBe("-rw-------");
      // Nobody else may write them, and none runs with rights of its own.
      else if (!mode.startsWith("l")) expect(mode.slice(1)).toMatch(/^rw[x-]r-[x-]r-[x-]$/);
    }
    for (const file of files) {
      const kept = run(["dpkg-deb", "--info", file, "conffiles"], dist);
      expect(kept).toMatch(/^\/etc\/shorthop\/\w+\.env\n$/);
    }
  });

  test.skipIf(Bun.which("lintian") === null)("have no error or warning of lintian", () => {
    const { stdout } = Bun.spawnSync(["lintian", "--allow-root", ...files], { cwd: dist });
    expect(stdout.toString().match(/^[EW]: .*/gm) ?? []).toEqual([]);
  });

  test("have scripts that are valid shell, and need at least their own version of the executable", () => {
    for (const file of files) {
      for (const script of ["postinst", "prerm", "postrm"]) {
        const path = join(dist, script);
        writeFileSync(path, run(["dpkg-deb", "--info", file, script], dist));
        run(["sh", "-n", path], dist);
      }
    }
    expect(read(files[1])).toBe("shorthop (>= 1.2.3-4)");
    expect(read(files[0])).toBe("libc6 (>= 2.17)");
    expect(files.map((file) => read(file, "Architecture"))).toEqual(files.map(() => "arm64"));
  });
});

test("the runtime needs no later C library than the packages ask for", () => {
  // Versions of symbols are text in the file.
  const found = run(["grep", "-aoE", "GLIBC_2\\.[0-9]+", process.execPath], "/").split("\n");
  const minors = found.filter((line) => line !== "").map((line) => Number(line.split(".")[1]));
  expect(`2.${Math.max(...minors)}`).toBe(LIBC_MIN);
});
