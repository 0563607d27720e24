/** Lists of hosts in a process's configuration. */
import { toAsciiHost } from "./contracts/ascii-host.ts";
import { envList } from "./env.ts";

/** A comma-separated list of hosts, in any script. */
export const envHosts = () => envList().transform((hosts) => hosts.map(toAsciiHost));
