/** A DNS server on loopback, for tests of domain verification, and of names of receivers. */
import dns2, { type DnsServer } from "dns2";

const { Packet } = dns2;

const SERVFAIL = 2;
const NXDOMAIN = 3;

/** How long resolvers may keep an answer, also the one that there is no record. */
const TTL_SECONDS = 900;

export type Dns = {
  /** `address:port`, in the form of `DNS_SERVERS`. */
  address: string;
  /** Sets the TXT records of a name; with `fail`, queries for it fail (SERVFAIL). */
  set(name: string, records: readonly string[] | "fail"): void;
  /** Sets the IPv4 addresses of a name: those of each query in turn, the last of them for good. */
  setAddresses(name: string, ...responses: readonly (readonly string[])[]): void;
  [Symbol.asyncDispose](): Promise<void>;
};

/**
 * A client that has given up has closed its port, which refuses the response: the system reports
 * that when the response is sent, or with the next query that is read.
 */
function ignoreRefused(error: unknown): void {
  if (!String(error).includes("ECONNREFUSED")) throw error;
}

/** The record that lets a resolver keep the answer that there is none (RFC 2308). */
function createAuthority() {
  const { TYPE, CLASS, Resource } = Packet;
  const times = { serial: 1, refresh: 3_600, retry: 600, expiration: 86_400, minimum: TTL_SECONDS };
  const names = { primary: "ns.example.com", admin: "admin.example.com" };
  return Object.assign(new Resource("com", TYPE.SOA, CLASS.IN, TTL_SECONDS), names, times);
}

/** Starts a server, at the address that the runner's stack asks if there is one. */
export async function startDns(): Promise<Dns> {
  const port = Number(process.env["SHORTHOP_TEST_DNS"]?.split(":")[1] ?? 0);
  const names = new Map<string, readonly string[] | "fail">();
  const addresses = new Map<string, (readonly string[])[]>();
  const server: DnsServer = dns2.createServer({
    udp: true,
    handle(request, send) {
      const response = Packet.createResponseFromRequest(request);
      const [question] = request.questions;
      const name = question?.name.toLowerCase() ?? "";
      const records = names.get(name);
      const responses = addresses.get(name);
      if (responses !== undefined) {
        const { TYPE, CLASS, Resource } = Packet;
        const isAddress = question?.type === TYPE.A;
        const [next = []] = isAddress ? responses : [];
        if (isAddress && responses.length > 1) responses.shift();
        for (const address of next)
          response.answers.push(
            Object.assign(new Resource(name, TYPE.A, CLASS.IN, TTL_SECONDS), { address }),
          );
      } else if (records === undefined) response.header.rcode = NXDOMAIN;
      else if (records === "fail") response.header.rcode = SERVFAIL;
      else {
        const { TYPE, CLASS, Resource } = Packet;
        for (const data of records)
          response.answers.push(
            Object.assign(new Resource(name, TYPE.TXT, CLASS.IN, TTL_SECONDS), { data }),
          );
      }
      if (response.answers.length === 0) response.authorities.push(createAuthority());
      send(response).catch(ignoreRefused);
    },
  });
  server.on("error", ignoreRefused);
  await server.listen({ udp: { port, address: "127.0.0.1" } });
  const { udp } = server.addresses();
  return {
    address: `127.0.0.1:${udp?.port}`,
    set: (name, records) => void names.set(name.toLowerCase(), records),
    setAddresses: (name, ...responses) => void addresses.set(name.toLowerCase(), [...responses]),
    async [Symbol.asyncDispose]() {
      await server.close();
    },
  };
}
