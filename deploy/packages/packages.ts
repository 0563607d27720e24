/**
 * The Debian packages: `shorthop` with the executable, the command line and the examples, and a
 * package with units and configuration for each process. Built by `dpkg-deb` alone (deb-control(5),
 * deb-conffiles(5)).
 */
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

import { run } from "./run.ts";

const MAINTAINER = "Shorthop <packages@shorthop.example>";

/** The C library that the runtime needs; Debian and Ubuntu have later ones. */
export const LIBC_MIN = "2.17";

const UNITS = "usr/lib/systemd/system";
const SYSCTL = "60-shorthop.conf";

type PackageSpec = PackageUnits & {
  name: string;
  description: string;
  /** The lines below the description. */
  details: string;
  /** From a path in the tree to one in the file system, without leading slashes. */
  files: Record<string, string>;
  links?: Record<string, string>;
  directories?: string[];
  /** Names of files in /etc/shorthop, which hold secrets. */
  configuration: string[];
};

const unitFiles = (...names: string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [`systemd/${name}`, `${UNITS}/${name}`]));

const PACKAGES: readonly PackageSpec[] = [
  {
    name: "shorthop",
    description: "URL shortener: executable and command line",
    details: `The executable of all processes, the command "shorthop", backups and
checks, and the configuration of PostgreSQL, NATS, ClickHouse and proxies.`,
    files: {
      bin: "opt/shorthop/bin",
      postgres: "usr/share/shorthop/postgres",
      nats: "usr/share/shorthop/nats",
      clickhouse: "usr/share/shorthop/clickhouse",
      caddy: "usr/share/shorthop/caddy",
      certbot: "usr/share/shorthop/certbot",
      haproxy: "usr/share/shorthop/haproxy",
      monitoring: "usr/share/shorthop/monitoring",
      docs: "usr/share/doc/shorthop/docs",
      "CHANGELOG.md": "usr/share/doc/shorthop/changelog",
      "sbom.cdx.json": "usr/share/doc/shorthop/sbom.cdx.json",
      "shorthop.1": "usr/share/man/man1/shorthop.1",
      ...unitFiles(
        "shorthop.target",
        "shorthop-backup.service",
        "shorthop-backup.timer",
        "shorthop-doctor.service",
        "shorthop-doctor.timer",
        "shorthop-backup-drill.service",
        "shorthop-backup-drill.timer",
      ),
    },
    links: { "usr/bin/shorthop": "/opt/shorthop/bin/shorthop" },
    configuration: ["migrate.env"],
    enabled: ["shorthop.target"],
    timers: ["shorthop-backup.timer", "shorthop-backup-drill.timer", "shorthop-doctor.timer"],
    services: [],
  },
  {
    name: "shorthop-api",
    description: "URL shortener: API and dashboard",
    details: "The API of links and their statistics, and the dashboard, as a service.",
    files: {
      dashboard: "opt/shorthop/dashboard",
      ...unitFiles("shorthop-api@.service"),
    },
    configuration: ["api.env"],
    enabled: [],
    services: ["shorthop-api@*.service"],
  },
  {
    name: "shorthop-worker",
    description: "URL shortener: storage of clicks",
    details: "Stores clicks in ClickHouse and delivers webhooks, as a service.",
    files: {
      ...unitFiles("shorthop-worker.service", "shorthop-geoip.service", "shorthop-geoip.timer"),
    },
    directories: ["var/lib/GeoIP"],
    configuration: ["worker.env"],
    enabled: [],
    timers: ["shorthop-geoip.timer"],
    services: ["shorthop-worker.service"],
  },
  {
    name: "shorthop-redirector",
    description: "URL shortener: redirects",
    details: "Redirects visitors of short links and records their clicks, as a service.",
    files: {
      ...unitFiles("shorthop-redirector@.service", "shorthop-tls.path", "shorthop-tls.service"),
      [`systemd/${SYSCTL}`]: `usr/lib/sysctl.d/${SYSCTL}`,
    },
    directories: ["etc/shorthop/tls"],
    configuration: ["redirector.env"],
    enabled: ["shorthop-tls.path"],
    services: ["shorthop-redirector@*.service"],
    sysctl: `/usr/lib/sysctl.d/${SYSCTL}`,
  },
];

/** Text that Debian wants compressed. */
const COMPRESSED = ["usr/share/doc/shorthop/changelog", "usr/share/man/man1/shorthop.1"];

const OVERRIDES: readonly Override[] = [
  {
    tag: "malformed-deb-archive",
    reason:
      "dpkg reads zstd since Debian 12 and Ubuntu 21.10, and unpacks it in a tenth of the time.",
  },
  {
    tag: "dir-or-file-in-opt",
    reason: "Add-on software is in /opt (FHS 3.13), at the same paths as from the tarball.",
  },
  {
    tag: "maintainer-script-calls-systemctl",
    reason: "Running processes are replaced one by one, which debhelper's scripts do not do.",
  },
  { tag: "non-standard-file-perm", reason: "Environment files have secrets of root's." },
  {
    tag: "systemd-service-file-refers-to-unusual-wantedby-target",
    reason: "shorthop.target starts and stops all processes of a host.",
  },
];

/** Of what is in the runtime, which the executable consists of. */
const EXECUTABLE_OVERRIDES: readonly Override[] = [
  { tag: "embedded-library", reason: "The runtime is linked with its libraries by its makers." },
  { tag: "hardening-no-pie", reason: "The runtime is linked by its makers." },
  { tag: "hardening-no-relro", reason: "The runtime is linked by its makers." },
  {
    tag: "unstripped-binary-or-object",
    reason: "The program is behind the end of the runtime, where stripping would cut it off.",
  },
  {
    tag: "uses-dpkg-database-directly",
    reason: "An upgrade saves the packages it replaces, whose scripts dpkg keeps only there.",
  },
];

/** What packages are built from: a tree of `deploy/build.ts`, and the time of its sources. */
type Release = { tree: string; version: string; architecture: string; date: Date };

/** Builds all packages into `dist`; returns their file names. */
export function buildPackages(dist: string, release: Release): string[] {
  const { tree, version, architecture } = release;
  return PACKAGES.map((spec) => {
    const root = join(dist, "deb", spec.name);
    layOut(spec, tree, root);
    writeDocuments(spec.name, root, release);
    for (const path of COMPRESSED) if (existsSync(join(root, path))) compress(join(root, path));
    // What the build machine's umask may have withheld.
    run(["chmod", "--recursive", "u=rwX,go=rX", "."], root);
    addConfiguration(spec, tree, root);
    writeControl(spec, root, release);
    const file = `${spec.name}_${version}_${architecture}.deb`;
    run(["dpkg-deb", "--root-owner-group", "-Zzstd", "-z9", "--build", root, file], dist);
    rmSync(root, { recursive: true });
    return file;
  });
}

function layOut(
  { files, links = {}, directories = [] }: PackageSpec,
  tree: string,
  root: string,
): void {
  for (const [from, to] of Object.entries(files)) {
    mkdirSync(dirname(join(root, to)), { recursive: true });
    cpSync(join(tree, from), join(root, to), { recursive: true, verbatimSymlinks: true });
  }
  for (const [path, target] of Object.entries(links)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    symlinkSync(target, join(root, path));
  }
  for (const path of directories) mkdirSync(join(root, path), { recursive: true });
}

function addConfiguration({ configuration }: PackageSpec, tree: string, root: string): void {
  mkdirSync(join(root, "etc/shorthop"), { recursive: true });
  for (const name of configuration) {
    const path = join(root, "etc/shorthop", name);
    cpSync(join(tree, "systemd", name), path);
    chmodSync(path, 0o600);
  }
}

function writeControl(spec: PackageSpec, root: string, { version, architecture }: Release): void {
  const [size = "0"] = run(
    ["du", "--summarize", "--apparent-size", "--block-size=1024", "."],
    root,
  ).split("\t");
  // The executable may be newer, so that it can migrate before the processes are replaced.
  const depends = spec.name === "shorthop" ? `libc6 (>= ${LIBC_MIN})` : `shorthop (>= ${version})`;
  const control = [
    `Package: ${spec.name}`,
    `Version: ${version}`,
    `Architecture: ${architecture}`,
    `Maintainer: ${MAINTAINER}`,
    `Installed-Size: ${size}`,
    `Depends: ${depends}`,
    "Section: net",
    "Priority: optional",
    "Homepage: https://github.com/shorthop/shorthop",
    `Description: ${spec.description}`,
    ...spec.details.split("\n").map((line) => ` ${line}`),
  ];
  const dir = join(root, "DEBIAN");
  mkdirSync(dir);
  writeFileSync(join(dir, "control"), `${control.join("\n")}\n`);
  writeFileSync(
    join(dir, "conffiles"),
    spec.configuration.map((name) => `/etc/shorthop/${name}\n`).join(""),
  );
  const scripts = { postinst: postinst(spec), prerm: prerm(spec), postrm: postrm() };
  for (const [name, text] of Object.entries(scripts))
    writeFileSync(join(dir, name), text, { mode: 0o755 });
}

/** A tag of `lintian`, with why the package has it. */
type Override = { tag: string; reason: string };

/** Writes the licence, the changelog of the package and its overrides below `root`. */
function writeDocuments(name: string, root: string, { tree, version, date }: Release): void {
  const documents = join(root, "usr/share/doc", name);
  mkdirSync(documents, { recursive: true });
  cpSync(join(tree, "LICENSE"), join(documents, "copyright"));
  writeFileSync(
    join(documents, "changelog.Debian"),
    `shorthop (${version}) stable; urgency=medium

  * Changes are in /usr/share/doc/shorthop/changelog.gz of the package shorthop.

 -- ${MAINTAINER}  ${date.toUTCString().replace("GMT", "+0000")}
`,
  );
  compress(join(documents, "changelog.Debian"));
  const dir = join(root, "usr/share/lintian/overrides");
  mkdirSync(dir, { recursive: true });
  const overrides = [...OVERRIDES, ...(name === "shorthop" ? EXECUTABLE_OVERRIDES : [])];
  const lines = overrides.map(({ tag, reason }) => `# ${reason}\n${name}: ${tag} *\n`);
  writeFileSync(join(dir, name), lines.join(""));
}

/** Compresses a file as Debian wants it: the same content gives the same bytes. */
const compress = (path: string): void => {
  run(["gzip", "--best", "--no-name", path], "/");
};

type PackageUnits = {
  /** Units to enable with the installation; services are enabled by the operator. */
  enabled: string[];
  /** Timers that an operator may have enabled, which a removal stops. */
  timers?: string[];
  /** Running units that are replaced by an upgrade, one by one, and stopped by a removal. */
  services: string[];
  /** Path of kernel settings that the installation applies. */
  sysctl?: string;
};

// ---- Maintainer scripts (Debian Policy, chapter 6); without a running systemd they do nothing

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
function postinst({ enabled, services, sysctl }: PackageUnits): string {
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
function prerm({ enabled, services, timers = [] }: PackageUnits): string {
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
const postrm = (): string => `${HEAD}${whereBooted(["systemctl daemon-reload"])}`;
