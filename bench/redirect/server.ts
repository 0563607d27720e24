/** Runs a server on one core, and its load on the other. */
export const SERVER_CORE = "0";
export const LOAD_CORE = "1";

type ServerOptions = {
  command: string[];
  env?: Record<string, string>;
  /** Responds as soon as the server is up. */
  url: string;
};

/** Starts a server, calls `use`, and stops the server even if `use` fails. */
export async function withServer(
  { command, env = {}, url }: ServerOptions,
  use: (pid: number) => Promise<void>,
): Promise<void> {
  const child = Bun.spawn(["taskset", "-c", SERVER_CORE, ...command], {
    env: { ...process.env, ...env },
    stdout: "ignore",
    stderr: "inherit",
  });
  const isUp = () =>
    fetch(url, { redirect: "manual", tls: { rejectUnauthorized: false } }).then(
      () => true,
      () => false,
    );
  try {
    while (!(await isUp())) await Bun.sleep(100);
    await use(child.pid);
  } finally {
    child.kill("SIGTERM");
    await child.exited;
  }
}

/** Runs wrk with a script on the other core; returns the numbers of its `RESULT` line. */
export async function wrk(
  script: string,
  url: string,
  { seconds, connections, args = [] }: { seconds: number; connections: number; args?: string[] },
): Promise<number[]> {
  const command = ["taskset", "-c", LOAD_CORE, "wrk", "-t1", `-c${connections}`, `-d${seconds}s`];
  command.push("-s", `bench/redirect/${script}`, url, "--", ...args);
  const child = Bun.spawn(command, { stdout: "pipe" });
  const text = await new Response(child.stdout).text();
  const numbers = /RESULT ([\d ]+)/.exec(text)?.[1]?.split(" ").map(Number);
  if (numbers === undefined) throw new Error(`wrk: ${text}`);
  return numbers;
}
