import { expect, test } from "bun:test";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";

import { dirForFile } from "../../test/harness/for-file.ts";
import { downloadNatsServer, findNatsServer } from "./nats.ts";
import { findFreePort } from "./ports.ts";

const PROCESSES = 4;

const dir = dirForFile("shorthop-download-");

/** Builds a Debian package of the server; returns its path. */
async function buildPackage(): Promise<string> {
  const tree = join(dir, "tree");
  mkdirSync(join(tree, "DEBIAN"), { recursive: true });
  mkdirSync(join(tree, "usr/sbin"), { recursive: true });
  const fields = ["Package: nats-server", "Version: 1", "Architecture: all", "Maintainer: test"];
  writeFileSync(join(tree, "DEBIAN/control"), `${fields.join("\n")}\nDescription: test\n`);
  const server = await findNatsServer(join(import.meta.dir, "../../.local/bin"), console.log);
  cpSync(server, join(tree, "usr/sbin/nats-server"));
  const path = join(dir, "nats-server.deb");
  const built = Bun.spawnSync(["dpkg-deb", "--build", "-Znone", tree, path]);
  expect(built.stderr.toString()).toBe("");
  return path;
}

/** A folder with an `apt-get` that notes each download in `notes`, and "downloads" the package. */
async function createAptGet(notes: string): Promise<string> {
  const folder = join(dir, "tools");
  mkdirSync(folder);
  const script = `#!/bin/sh\necho "$@" >> ${notes}\ncp ${await buildPackage()} .\n`;
  writeFileSync(join(folder, "apt-get"), script, { mode: 0o755 });
  return folder;
}

/** Starts a process that gets the server, runs it, and says so or why not. */
function startAndRun(bin: string, tools: string) {
  const program = `
    import { downloadNatsServer } from ${JSON.stringify(join(import.meta.dir, "nats.ts"))};
    const path = await downloadNatsServer(${JSON.stringify(bin)}, () => undefined);
    const server = Bun.spawn([path, "-a", "127.0.0.1", "-p", "${findFreePort()}"], { stderr: "pipe" });
    let output = "";
    for await (const part of server.stderr) {
      output += new TextDecoder().decode(part);
      if (output.includes("Server is ready")) break;
    }
    console.log(output.includes("Server is ready") ? "runs" : output);
    // Until the test has seen all of them.
    await Bun.stdin.text();
    server.kill();`;
  return Bun.spawn([process.execPath, "--eval", program], {
    env: { ...process.env, PATH: `${tools}${delimiter}${process.env["PATH"]}` },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
}

test.skipIf(Bun.which("dpkg-deb") === null)(
  "processes that download nats-server at once download it once, and all can run it",
  async () => {
    const notes = join(dir, "downloads");
    const tools = await createAptGet(notes);
    const bin = join(dir, "bin");
    const children = Array.from({ length: PROCESSES }, () => startAndRun(bin, tools));
    const said = await Promise.all(
      children.map(async ({ stdout, stderr }) => {
        const { value } = await stdout.getReader().read();
        return value === undefined ? await new Response(stderr).text() : Buffer.from(value);
      }),
    );
    for (const { stdin } of children) void stdin.end();
    await Promise.all(children.map((child) => child.exited));
    expect(said.map((text) => text.toString().trim())).toEqual(Array(PROCESSES).fill("runs"));
    // One that comes later finds it.
    expect(await downloadNatsServer(bin, console.log)).toBe(join(bin, "nats-server"));
    expect(readFileSync(notes, "utf8").trim().split("\n")).toHaveLength(1);
  },
);
