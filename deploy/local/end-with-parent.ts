/**
 * Makes a command that the kernel ends when the process that has started it ends for any reason,
 * also by `kill -9` (prctl(2), PR_SET_PDEATHSIG). It need not cooperate, so this also works for
 * servers of other projects. `signal` is the one that it gets then.
 */
export const endWithParent = (
  command: readonly string[],
  signal: "KILL" | "QUIT" = "KILL",
): [string, ...string[]] => [
  "setpriv",
  "--pdeathsig",
  signal,
  "sh",
  "-c",
  // A parent that ended before that will send nothing.
  '[ "$PPID" = "$0" ] && exec "$@"',
  String(process.pid),
  ...command,
];
