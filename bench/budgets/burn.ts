/** Burns CPU time in processes of their own. */
import { cpus } from "node:os";

/** Uses so much CPU time a second, in slices of a tenth, on as many cores as that needs. */
export async function burn(seconds: number, cpuPerSecond: number): Promise<void> {
  const processes = Math.min(cpus().length, Math.max(1, Math.ceil(cpuPerSecond)));
  const share = Math.min(1, cpuPerSecond / processes);
  const program = `
    const end = Date.now() + ${seconds * 1_000};
    while (Date.now() < end) {
      const slice = performance.now() + ${100 * share};
      while (performance.now() < slice);
      await Bun.sleep(${100 * (1 - share)});
    }`;
  const running = Array.from({ length: processes }, () =>
    Bun.spawn([process.execPath, "-e", program], { stdout: "ignore", stderr: "inherit" }),
  );
  await Promise.all(running.map((child) => child.exited));
}
