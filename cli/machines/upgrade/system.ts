/** Programs of the operating system, as an upgrade runs them. */

export type System = {
  /** Runs a command and returns its output. Throws when it fails. */
  read(command: readonly string[]): Promise<string>;
  /** Runs a command that prints for the operator. Throws when it fails. */
  run(command: readonly string[]): Promise<void>;
};

export const hostSystem: System = {
  async read([program = "", ...args]) {
    const child = Bun.spawn([program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    if (code !== 0) throw new Error(`${program} ${args.join(" ")}: ${stderr.trim()}`);
    return stdout;
  },
  async run([program = "", ...args]) {
    const child = Bun.spawn([program, ...args], { stdio: ["ignore", "inherit", "inherit"] });
    if ((await child.exited) !== 0) throw new Error(`${program} ${args.join(" ")} failed.`);
  },
};
