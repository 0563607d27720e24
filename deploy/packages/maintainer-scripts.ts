/**
 * The packages' maintainer scripts (Debian Policy, chapter 6). Without a running systemd they leave
 * units alone.
 */

/** The units of a package. */
export type PackageUnits = {
  /** Units to enable with the installation; services are enabled by the operator. */
  enabled: string[];
  /** Timers that an operator may have enabled, which a removal stops. */
  timers?: string[];
  /** Running units that are replaced by an upgrade, one by one, and stopped by a removal. */
  services: string[];
  /** Path of kernel settings that the installation applies. */
  sysctl?: string;
};

const HEAD = `#!/bin/sh
set -e
`;

/** Runs commands only where systemd runs, as in sd_booted(3). */
const whereBooted = (commands: readonly string[]): string =>
  ["if [ -d /run/systemd/system ]; then", ...commands.map((line) => `  ${line}`), "fi\n"].join(
    "\n",
  );

/**
 * After an installation or upgrade: enables and starts what needs no configuration, and replaces
 * what runs, one by one. An upgrade starts nothing: the target would start what an operator has
 * stopped.
 */
export function postinst({ enabled, services, sysctl }: PackageUnits): string {
  const enable = enabled.map((unit) => `systemctl --quiet enable ${unit} || true\n`).join("");
  // The second argument is the version before.
  const start = enabled.map((unit) => `[ -n "$2" ] || systemctl start ${unit}`);
  const replace = services.map((pattern) => `/opt/shorthop/bin/shorthop-restart '${pattern}'`);
  // Containers may not be allowed to.
  const apply = sysctl === undefined ? [] : [`sysctl --quiet --load ${sysctl} || true`];
  return `${HEAD}[ "$1" = configure ] || exit 0
${enable}${whereBooted(["systemctl daemon-reload", ...apply, ...start, ...replace])}`;
}

/** Before a removal: stops the services and disables every unit. */
export function prerm({ enabled, services, timers = [] }: PackageUnits): string {
  // `systemctl disable` takes no patterns.
  const disable = [...services, ...timers, ...enabled].flatMap((pattern) => [
    `for unit in $(systemctl list-units --all --plain --no-legend '${pattern}' | cut -d ' ' -f 1); do`,
    `  systemctl --quiet disable --now "$unit"`,
    "done",
  ]);
  return `${HEAD}[ "$1" = remove ] || exit 0
${whereBooted(disable)}`;
}

/** After a removal. */
export const postrm = (): string => `${HEAD}${whereBooted(["systemctl daemon-reload"])}`;
