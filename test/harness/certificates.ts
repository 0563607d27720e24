/**
 * Certificates for a test: an authority of its own, and a certificate of this machine's addresses.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { run } from "../../deploy/packages/run.ts";

export type Certificates = { ca: string; cert: string; key: string };

/**
 * Writes `ca.crt`, `tls.crt` and `tls.key` into `dir` with the `openssl` program; returns their
 * paths. The certificate is for loopback, and for `addresses` and `hosts`.
 */
export function createCertificates(
  dir: string,
  addresses: readonly string[] = [],
  hosts: readonly string[] = [],
): Certificates {
  const path = (name: string) => join(dir, name);
  const files = { ca: path("ca.crt"), cert: path("tls.crt"), key: path("tls.key") };
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  const names = [
    ...["localhost", ...hosts].map((host) => `DNS:${host}`),
    ...["127.0.0.1", ...addresses].map((address) => `IP:${address}`),
  ];
  writeFileSync(
    path("extensions"),
    `subjectAltName=${names.join(",")}\nextendedKeyUsage=serverAuth,clientAuth\n`,
  );
  const caKey = path("ca.key");
  const openssl = (...args: string[]): void => void run(["openssl", ...args], dir);
  openssl("req", "-x509", ...newKey, "-keyout", caKey, "-out", files.ca, "-subj", "/CN=test");
  const request = path("tls.csr");
  openssl("req", ...newKey, "-keyout", files.key, "-out", request, "-subj", "/CN=nats");
  const by = ["-CA", files.ca, "-CAkey", caKey, "-CAcreateserial"];
  const extensions = ["-extfile", path("extensions")];
  openssl("x509", "-req", "-in", request, ...by, ...extensions, "-out", files.cert);
  return files;
}
