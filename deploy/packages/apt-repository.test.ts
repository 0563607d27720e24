/** Goal: apt installs from the repository, and rejects one that was changed or signed by another. */
import { afterAll, beforeAll, describe, expect } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { longTest } from "../../test/harness/property-runs.ts";
import { buildRepository } from "./apt-repository.ts";
import { ARCHITECTURES } from "./architectures.ts";
import { run } from "./run.ts";

const missing = ["apt-get", "dpkg-deb", "gpg"].filter((name) => Bun.which(name) === null);
if (missing.length > 0)
  console.warn(`\n!!! No ${missing.join(", ")}: the apt repository is NOT TESTED\n`);

describe.skipIf(missing.length > 0)("the apt repository", () => {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-apt-"));
  const repository = join(dir, "repository");
  const home = join(dir, "gnupg");
  const before = process.env["GNUPGHOME"];

  beforeAll(() => {
    // As root, apt reads files as another user.
    chmodSync(dir, 0o755);
    mkdirSync(home, { mode: 0o700 });
    process.env["GNUPGHOME"] = home;
    for (const name of ["packages@shorthop.example", "somebody@shorthop.example"])
      run(["gpg", "--batch", "--passphrase", "", "--quick-gen-key", name, "ed25519", "sign"], dir);
    const packages = ARCHITECTURES.map(({ debian }) => {
      const root = join(dir, debian);
      mkdirSync(join(root, "DEBIAN"), { recursive: true });
      const control = ["Package: shorthop", "Version: 1.2.3-4", `Architecture: ${debian}`];
      const others = ["Maintainer: Test <test@shorthop.example>", "Description: test"];
      writeFileSync(join(root, "DEBIAN/control"), [...control, ...others, ""].join("\n"));
      const path = join(dir, `shorthop_1.2.3-4_${debian}.deb`);
      run(["dpkg-deb", "--root-owner-group", "--build", root, path], dir);
      return path;
    });
    const line = buildRepository(repository, packages, {
      key: "packages@shorthop.example",
      url: `file://${repository}`,
    });
    expect(line).toBe(
      `deb [signed-by=/usr/share/keyrings/shorthop.gpg] file://${repository} stable main`,
    );
  });
  afterAll(() => {
    run(["gpgconf", "--kill", "all"], dir);
    if (before === undefined) delete process.env["GNUPGHOME"];
    else process.env["GNUPGHOME"] = before;
    rmSync(dir, { recursive: true, force: true });
  });

  /** Updates apt's lists from the repository alone; returns what apt then knows of the package. */
  function readByApt(keyring: string): string {
    const state = mkdtempSync(join(dir, "state-"));
    chmodSync(state, 0o755);
    for (const name of ["lists/partial", "cache/archives/partial"])
      mkdirSync(join(state, name), { recursive: true });
    const source = join(state, "sources.list");
    writeFileSync(source, `deb [signed-by=${keyring}] file://${repository} stable main\n`);
    const options = [
      `Dir::Etc::sourcelist=${source}`,
      "Dir::Etc::sourceparts=/dev/null",
      `Dir::State::lists=${state}/lists`,
      `Dir::Cache=${state}/cache`,
      "APT::Sandbox::User=root",
    ].flatMap((option) => ["-o", option]);
    run(["apt-get", "update", "--error-on=any", ...options], dir);
    return run(["apt-cache", ...options, "show", "shorthop"], dir);
  }

  longTest("is verified by its key, and has the package of each architecture", () => {
    const found = readByApt(join(repository, "shorthop.gpg"));
    expect(found).toContain("Version: 1.2.3-4");
    for (const { debian } of ARCHITECTURES) {
      const index = join(repository, `dists/stable/main/binary-${debian}/Packages`);
      const lines = readFileSync(index, "utf8").split("\n");
      expect(lines.filter((line) => line.startsWith("Architecture:"))).toEqual([
        `Architecture: ${debian}`,
      ]);
    }
  });

  longTest("is rejected with another key, and after a change", () => {
    const other = join(dir, "other.gpg");
    run(["gpg", "--batch", "--output", other, "--export", "somebody@shorthop.example"], dir);
    expect(() => readByApt(other)).toThrow(/NO_PUBKEY|not signed/);
    const release = join(repository, "dists/stable/InRelease");
    const text = readFileSync(release, "utf8");
    writeFileSync(release, text.replace("Origin: Shorthop", "Origin: Somebody"));
    expect(() => readByApt(join(repository, "shorthop.gpg"))).toThrow(/BADSIG|invalid|not signed/);
    writeFileSync(release, text);
    const index = join(repository, "dists/stable/main/binary-amd64/Packages.gz");
    const packed = readFileSync(index);
    writeFileSync(index, "other");
    expect(() => readByApt(join(repository, "shorthop.gpg"))).toThrow(/size|Hash/i);
    writeFileSync(index, packed);
  });
});
