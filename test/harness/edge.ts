/** Caddy and HAProxy with the shipped configuration, as an operator edits it. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { endWithParent } from "../../deploy/local/end-with-parent.ts";
import { createCertificates } from "./certificates.ts";
import { freePort } from "./ports.ts";
import { PROJECT_DIR } from "./stack.ts";

/** Names and addresses in the shipped file, and those of the test. */
type Edits = Record<string, string>;

export type Edge = {
  httpPort: number;
  httpsPort: number;
  /** The certificate of the authority that signed the others. */
  ca: string;
  [Symbol.asyncDispose](): Promise<void>;
};

/**
 * Starts Caddy. Certificates are its own instead of a public authority's, and ports are free ones.
 */
export function startCaddy(edits: Edits): Edge {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-caddy-"));
  const [httpPort, httpsPort, askPort] = [freePort(), freePort(), freePort()];
  const options = [
    "local_certs",
    "skip_install_trust",
    "admin off",
    `http_port ${httpPort}`,
    `https_port ${httpsPort}`,
    `storage file_system ${dir}`,
  ];
  const config = join(dir, "Caddyfile");
  const shipped = edit(join(PROJECT_DIR, "deploy/caddy/Caddyfile"), {
    ...edits,
    "127.0.0.1:2020": `127.0.0.1:${askPort}`,
  });
  writeFileSync(config, shipped.replace(/^\{$/m, `{\n\t${options.join("\n\t")}`));
  return start(["caddy", "run", "--config", config, "--adapter", "caddyfile"], {
    dir,
    httpPort,
    httpsPort,
    ca: join(dir, "pki/authorities/local/root.crt"),
  });
}

/** Starts HAProxy with a certificate of the test. */
export function startHaproxy(edits: Edits): Edge {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-haproxy-"));
  const { ca, cert, key } = createCertificates(dir);
  const certificates = join(dir, "certs");
  mkdirSync(certificates);
  writeFileSync(
    join(certificates, "own.pem"),
    readFileSync(cert, "utf8") + readFileSync(key, "utf8"),
  );
  const [httpPort, httpsPort] = [freePort(), freePort()];
  const config = join(dir, "haproxy.cfg");
  const file = edit(join(PROJECT_DIR, "deploy/haproxy/haproxy.cfg"), {
    ...edits,
    // More than this machine may allow.
    "maxconn 100000": "maxconn 1000",
    ":80\n": `:${httpPort}\n`,
    ":443 ": `:${httpsPort} `,
    "/etc/haproxy/certs": certificates,
  });
  writeFileSync(config, file);
  return start(["haproxy", "-f", config, "-db"], { dir, httpPort, httpsPort, ca });
}

function edit(path: string, edits: Edits): string {
  let text = readFileSync(path, "utf8");
  // The longest first, as one may be part of another.
  for (const [shipped, value] of Object.entries(edits).toSorted(
    ([a], [b]) => b.length - a.length,
  )) {
    if (!text.includes(shipped)) throw new Error(`${path} has no ${shipped}`);
    text = text.replaceAll(shipped, value);
  }
  return text;
}

function start(
  command: string[],
  { dir, ...edge }: Omit<Edge, typeof Symbol.asyncDispose> & { dir: string },
): Edge {
  const child = Bun.spawn(endWithParent(command), {
    env: { ...process.env, HOME: dir, XDG_CONFIG_HOME: dir },
    stdio: ["ignore", "ignore", Bun.file(join(dir, "log"))],
  });
  return {
    ...edge,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.exited;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
