import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { dirForEach } from "../test/harness/for-file.ts";
import { makeOnce } from "./process-lock.ts";

const dir = dirForEach("shorthop-once-");

/** Starts a process that writes half of `path`, says so, and would then take an hour. */
function startHalf(path: string) {
  const program = `
    import { writeFileSync } from "node:fs";
    import { makeOnce } from ${JSON.stringify(join(import.meta.dir, "process-lock.ts"))};
    await makeOnce(${JSON.stringify(path)}, async (unfinished) => {
      writeFileSync(unfinished, "half");
      console.log("half");
      await Bun.sleep(3_600_000);
    });`;
  const child = Bun.spawn([process.execPath, "--eval", program], { stdout: "pipe" });
  return Object.assign(child, { [Symbol.dispose]: () => child.kill("SIGKILL") });
}

test("what several need at once is made once, and all wait for it", async () => {
  const path = join(dir(), "new", "file");
  let made = 0;
  const need = () =>
    makeOnce(path, async (unfinished) => {
      made++;
      await Bun.sleep(1);
      writeFileSync(unfinished, "whole");
    }).then(() => readFileSync(path, "utf8"));
  expect(new Set(await Promise.all([need(), need(), need(), need()]))).toEqual(new Set(["whole"]));
  expect(made).toBe(1);
});

test("a process that was killed while making it neither leaves a half nor blocks the next one", async () => {
  const path = join(dir(), "file");
  using killed = startHalf(path);
  await killed.stdout.getReader().read();
  let made = 0;
  const next = makeOnce(path, (unfinished) => {
    made++;
    writeFileSync(unfinished, "whole");
  });
  expect(made).toBe(0);
  killed.kill("SIGKILL");
  await next;
  expect([made, readdirSync(dir()), readFileSync(path, "utf8")]).toEqual([1, ["file"], "whole"]);
});

test("a failure is the caller's, and the next one tries again", async () => {
  const path = join(dir(), "file");
  const failing = makeOnce(path, () => Promise.reject(new Error("no network")));
  expect(await failing.catch(String)).toBe("Error: no network");
  await makeOnce(path, (unfinished) => writeFileSync(unfinished, "whole"));
  expect(readFileSync(path, "utf8")).toBe("whole");
});
