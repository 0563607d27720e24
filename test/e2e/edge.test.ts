/**
 * Goal: with the shipped configuration of Caddy and HAProxy, visitors reach everything by its
 * public name, over TLS, and count with their own addresses.
 */
import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { findFreePort } from "../../deploy/local/ports.ts";
import { endWithParent } from "../../deploy/local/supervisor.ts";
import { linkSchema } from "../harness/api.ts";
import { createCertificates } from "../harness/certificates.ts";
import { Dns } from "../harness/dns.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { OwnLinks } from "../harness/own-links.ts";
import { type ExtraProcess, startApi, startRedirector } from "../harness/processes.ts";
import { PROJECT_DIR, useStack } from "../harness/stack.ts";

/** Names and addresses in the shipped file, and those of the test. */
type Edits = Record<string, string>;

type Edge = {
  httpPort: number;
  httpsPort: number;
  /** The certificate of the authority that signed the others. */
  ca: string;
  [Symbol.asyncDispose](): Promise<void>;
};

/**
 * Starts Caddy. Certificates are its own instead of a public authority's, and ports are free ones.
 */
function startCaddy(edits: Edits): Edge {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-caddy-"));
  const [httpPort, httpsPort, askPort] = [findFreePort(), findFreePort(), findFreePort()];
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
function startHaproxy(edits: Edits): Edge {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-haproxy-"));
  const { ca, cert, key } = createCertificates(dir);
  const certificates = join(dir, "certs");
  mkdirSync(certificates);
  writeFileSync(
    join(certificates, "own.pem"),
    readFileSync(cert, "utf8") + readFileSync(key, "utf8"),
  );
  const [httpPort, httpsPort] = [findFreePort(), findFreePort()];
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

const SHORT_HOST = "sho.rt.test";
const PUBLIC = { SHORT_URL: `https://${SHORT_HOST}`, SHORT_HOSTS: "" };
const VERIFIED = "go.edge-proxy.example";
const UNVERIFIED = "never.example.com";
const BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

const hasCaddy = Bun.which("caddy") !== null;
const hasHaproxy = Bun.which("haproxy") !== null;
for (const [name, isThere] of [
  ["caddy", hasCaddy],
  ["haproxy", hasHaproxy],
] as const)
  if (!isThere) console.warn(`\n!!! No ${name} on this machine: its configuration is NOT TESTED\n`);

const dns = await forFile(Dns.start());
const stack = await forFile(useStack({ dns }));
const links = await OwnLinks.start(stack);

type Response = { status: number; location: string; body: string };

/**
 * Sends a request for a public name from an address of this machine; throws when the TLS handshake
 * fails.
 */
async function curl(
  { httpsPort, ca }: Edge,
  host: string,
  path: string,
  { from = "127.0.0.1", options = [] as string[] } = {},
): Promise<Response> {
  const child = Bun.spawn(
    ["curl", "--silent", "--show-error", "--max-time", "60", "--cacert", ca, "--interface", from]
      .concat(["--resolve", `${host}:${httpsPort}:127.0.0.1`, "--user-agent", BROWSER])
      .concat(["--write-out", "\\n%{http_code} %{redirect_url}", ...options])
      .concat(`https://${host}:${httpsPort}${path}`),
    { stdout: "pipe", stderr: "pipe" },
  );
  const [output, problem] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(problem);
  const end = output.lastIndexOf("\n");
  const [status = "", location = ""] = output.slice(end + 1).split(" ");
  return { status: Number(status), location, body: output.slice(0, end) };
}

/** Two visitors, one of whom claims to be somebody else, are counted as two. */
async function expectTwoVisitors(edge: Edge, host: string): Promise<void> {
  const { id, alias } = await links.create({ url: "https://example.com/visitors" });
  const forged = ["--header", "X-Forwarded-For: 203.0.113.9"];
  for (const visit of [
    { from: "127.0.0.2" },
    { from: "127.0.0.3" },
    { from: "127.0.0.3", options: forged },
  ]) {
    const { status, location } = await curl(edge, host, `/${alias}`, visit);
    expect([status, location]).toEqual([302, "https://example.com/visitors"]);
  }
  await eventually(async () => {
    expect(await links.read(id)).toMatchObject({ clicks: 3, unique_clicks: 2 });
  });
}

test.skipIf(!hasCaddy)(
  "Caddy has certificates for our names and verified domains only, and passes visitors' addresses on",
  async () => {
    await using cleanup = new AsyncDisposableStack();
    const start = async (process: Promise<ExtraProcess>): Promise<ExtraProcess> => {
      const started = await process;
      cleanup.defer(() => started.stop());
      return started;
    };
    const redirector = await start(startRedirector(stack, PUBLIC));
    // The second process that is asked for names; the first does not run.
    const second = await start(startApi(stack, PUBLIC));
    const caddy = cleanup.use(
      startCaddy({
        "127.0.0.1:9511": "127.0.0.1:1",
        "127.0.0.1:9512": new URL(second.metricsUrl).host,
        "127.0.0.1:3000": new URL(second.url).host,
        "127.0.0.1:3001": new URL(stack.info().dashboard_url).host,
        "127.0.0.1:8080": new URL(redirector.url).host,
        "\nsho.rt {": `\n${SHORT_HOST} {`,
        "api.sho.rt": `api.${SHORT_HOST}`,
        "app.sho.rt": `app.${SHORT_HOST}`,
      }),
    );
    const link = await links.create();
    await eventually(async () => {
      const { status } = await curl(caddy, SHORT_HOST, `/${link.alias}`);
      expect(status).toBe(302);
    });

    const authorization = ["--header", `Authorization: Bearer ${links.key}`];
    const found = await curl(caddy, `api.${SHORT_HOST}`, `/v1/links/${link.id}`, {
      options: authorization,
    });
    expect([found.status, linkSchema.parse(JSON.parse(found.body)).id]).toEqual([200, link.id]);
    const page = await curl(caddy, `app.${SHORT_HOST}`, "/");
    expect([page.status, page.body]).toEqual([200, expect.stringContaining("<!doctype html>")]);

    await links.addDomain(dns, VERIFIED);
    const custom = await links.create({ url: "https://example.com/custom", domain: VERIFIED });
    await eventually(async () => {
      const { location } = await curl(caddy, VERIFIED, `/${custom.alias}`);
      expect(location).toBe("https://example.com/custom");
    });
    const refusal = await curl(caddy, UNVERIFIED, "/").then(() => "an answer", String);
    expect(refusal).toMatch(/TLS|SSL/);
    await expectTwoVisitors(caddy, SHORT_HOST);
  },
);

test.skipIf(!hasHaproxy)(
  "HAProxy passes visitors' addresses on by the PROXY protocol, and asks only redirectors that answer",
  async () => {
    await using cleanup = new AsyncDisposableStack();
    const redirector = await startRedirector(stack, {
      PROXY_PROTOCOL: "true",
      TRUSTED_PROXIES: "",
      SHORT_HOSTS: "localhost",
    });
    cleanup.defer(() => redirector.stop());
    const haproxy = cleanup.use(
      startHaproxy({
        "10.0.0.11:80": new URL(redirector.url).host,
        // Nothing listens there.
        "10.0.0.12:80": "127.0.0.1:1",
      }),
    );
    await eventually(async () => {
      expect((await curl(haproxy, "localhost", "/healthz")).status).toBe(200);
    });
    await expectTwoVisitors(haproxy, "localhost");
  },
);
