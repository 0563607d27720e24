/** A redirector that serves TLS itself, with the files of a certificate manager. */
import { strict as assert } from "node:assert";

import { eventually } from "../harness/eventually.ts";
import type { Machine } from "./machine.ts";

/** Its number also shows that instances are not bound to one digit. */
const UNIT = "shorthop-redirector@10";
const METRICS_PORT = 9120;

const START_MS = 30_000;

const CREATE_CERTIFICATE = `
cd /etc/shorthop/tls
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=sho.rt -days 1 \\
  -keyout key.pem.new -out cert.pem.new 2> /dev/null
chmod 0600 key.pem.new
mv key.pem.new key.pem
mv cert.pem.new cert.pem
`;

/** Starts a redirector with TLS; returns the certificate's fingerprint. */
export async function serveTls(machine: Machine): Promise<string> {
  await machine.run(`${CREATE_CERTIFICATE}
cat > /etc/shorthop/redirector-10.env <<'END'
REDIRECTOR_PORT=443
TLS_CERT_FILE=tls_cert.pem
TLS_KEY_FILE=tls_key.pem
END
systemctl enable --now --quiet ${UNIT}
curl --fail --silent --insecure --output /dev/null https://127.0.0.1/healthz
curl --fail --silent --output /dev/null http://127.0.0.1:${METRICS_PORT}/healthz`);
  return await readFingerprint(machine);
}

/** Replaces the certificate, and waits until it is served; returns its fingerprint. */
export async function renewCertificate(machine: Machine, withinMs: number): Promise<string> {
  const before = await readFingerprint(machine);
  await machine.run(CREATE_CERTIFICATE);
  return await eventually(async () => {
    const fingerprint = await readFingerprint(machine);
    assert.notEqual(fingerprint, before);
    return fingerprint;
  }, withinMs);
}

/**
 * Renews it as certbot does: new files in `archive`, links to them in `live`, and the deploy hook
 * that is shipped.
 */
export async function renewByCertbot(machine: Machine, withinMs: number): Promise<void> {
  const before = await readFingerprint(machine);
  await machine.run(`
mkdir --parents /etc/letsencrypt/archive/sho.rt /etc/letsencrypt/live/sho.rt
cd /etc/letsencrypt/archive/sho.rt
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=sho.rt -days 90 \\
  -keyout privkey2.pem -out fullchain2.pem 2> /dev/null
ln --symbolic --force ../../archive/sho.rt/privkey2.pem ../../live/sho.rt/privkey.pem
ln --symbolic --force ../../archive/sho.rt/fullchain2.pem ../../live/sho.rt/fullchain.pem
RENEWED_LINEAGE=/etc/letsencrypt/live/sho.rt /usr/share/shorthop/certbot/shorthop-tls
stat --format=%a /etc/shorthop/tls/key.pem | grep --quiet --line-regexp 600`);
  await eventually(async () => assert.notEqual(await readFingerprint(machine), before), withinMs);
}

const readFingerprint = (machine: Machine): Promise<string> =>
  eventually(
    () =>
      machine.run(
        "openssl s_client -connect 127.0.0.1:443 < /dev/null 2> /dev/null | openssl x509 -noout -fingerprint",
      ),
    START_MS,
  );
