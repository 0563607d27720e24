/** The machine's Python, for tests of the client. */

const CANDIDATES = ["python3", "/usr/bin/python3"];

const USABLE = "import sys, httpx; assert sys.version_info >= (3, 11)";

const isUsable = (python: string): boolean => {
  const path = Bun.which(python);
  return path !== null && Bun.spawnSync([path, "-c", USABLE], { stderr: "ignore" }).exitCode === 0;
};

/** The first Python that can run the client; undefined, with a warning, if there is none. */
export const PYTHON = CANDIDATES.find(isUsable);

if (PYTHON === undefined)
  console.warn("!!! No Python 3.11 with httpx is here: the Python client is NOT TESTED HERE");
