/** The machine's Python, for tests of the client. */
import { findPython } from "./build.ts";

/** The first Python that can run the client; undefined, with a warning, if there is none. */
export const PYTHON = findPython("import sys, httpx; assert sys.version_info >= (3, 11)");

if (PYTHON === undefined)
  console.warn("!!! No Python 3.11 with httpx is here: the Python client is NOT TESTED HERE");
