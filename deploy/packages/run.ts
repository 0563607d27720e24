/** Runs a command in a directory and returns its standard output; throws if it fails. */
export function run([command = "", ...args]: string[], cwd: string): string {
  // Without `env`, a child gets the variables that this process was started with.
  const env = { ...process.env };
  const { exitCode, stdout, stderr } = Bun.spawnSync([command, ...args], { cwd, env });
  if (exitCode !== 0) throw new Error(`${command} ${args.join(" ")}:\n${stderr.toString()}`);
  return stdout.toString();
}
