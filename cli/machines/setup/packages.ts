/** Packages of the distribution that a host needs beside Shorthop's own. */
import type { Settings } from "./settings.ts";
import type { Step } from "./step.ts";
import { mustRun, type System } from "./system.ts";

const INSTALLED = "installed";

/** Waits for another run of apt, such as one whose setup was killed. */
const APT_GET = ["apt-get", "--option=DPkg::Lock::Timeout=300"];

export function packagesOf({ ROLE, TLS }: Settings): string[] {
  const stores = ROLE === "stores" ? ["postgresql", "nats-server", "openssl"] : [];
  return [...stores, ...(TLS === "certbot" ? ["certbot"] : [])];
}

/** A step that installs those that are missing. */
export const packagesStep = (names: readonly string[], system: System): Step => ({
  name: "packages",
  async inspect() {
    const missing: string[] = [];
    for (const name of names) if (!(await isInstalled(name, system))) missing.push(name);
    if (missing.length === 0) return [];
    const env = { DEBIAN_FRONTEND: "noninteractive" };
    return [
      {
        title: `apt-get install ${missing.join(" ")}`,
        async apply() {
          // Without it, or when it fails, the lists may still be good enough.
          await system.run([...APT_GET, "update"], { env });
          await mustRun(system, [...APT_GET, "install", "--yes", ...missing], { env });
        },
      },
    ];
  },
});

async function isInstalled(name: string, system: System): Promise<boolean> {
  const query = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", name];
  return (await system.run(query)).stdout === INSTALLED;
}
