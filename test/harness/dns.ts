/** A DNS server on loopback, for tests of domain verification, and of names of receivers. */
import dns2, { type DnsServer } from "dns2";

const { Packet } = dns2;

const SERVFAIL = 2;
const NXDOMAIN = 3;

/** How long resolvers may keep an answer, also the one that there is no record. */
const TTL_SECONDS = 900;

export class Dns {
  readonly #names = new Map<string, readonly string[] | "fail">();
  readonly #addresses = new Map<string, (readonly string[])[]>();
  readonly #server: DnsServer = dns2.createServer({
    udp: true,
    handle: (request, send) => void send(this.#respond(request)).catch(ignoreRefused),
  });

  /** Starts a server, at the address that the runner's stack asks if there is one. */
  static async start(): Promise<Dns> {
    const dns = new Dns();
    const port = Number(process.env["SHORTHOP_TEST_DNS"]?.split(":")[1] ?? 0);
    dns.#server.on("error", ignoreRefused);
    await dns.#server.listen({ udp: { port, address: "127.0.0.1" } });
    return dns;
  }

  private constructor() {}

  /** `address:port`, in the form of `DNS_SERVERS`. */
  get address(): string {
    return `127.0.0.1:${this.#server.addresses().udp?.port}`;
  }

  /** Sets the TXT records of a name; with `fail`, queries for it fail (SERVFAIL). */
  set(name: string, records: readonly string[] | "fail"): void {
    this.#names.set(name.toLowerCase(), records);
  }

  /** Sets the IPv4 addresses of a name: those of each query in turn, the last of them for good. */
  setAddresses(name: string, ...responses: readonly (readonly string[])[]): void {
    this.#addresses.set(name.toLowerCase(), [...responses]);
  }

  #respond(request: dns2.Packet): dns2.Packet {
    const response = Packet.createResponseFromRequest(request);
    const [question] = request.questions;
    const name = question?.name.toLowerCase() ?? "";
    const add = (type: number, data: object) =>
      response.answers.push(
        Object.assign(new Packet.Resource(name, type, Packet.CLASS.IN, TTL_SECONDS), data),
      );
    const records = this.#names.get(name);
    const responses = this.#addresses.get(name);
    if (responses !== undefined) {
      const isAddress = question?.type === Packet.TYPE.A;
      const [next = []] = isAddress ? responses : [];
      if (isAddress && responses.length > 1) responses.shift();
      for (const address of next) add(Packet.TYPE.A, { address });
    } else if (records === undefined) response.header.rcode = NXDOMAIN;
    else if (records === "fail") response.header.rcode = SERVFAIL;
    else for (const data of records) add(Packet.TYPE.TXT, { data });
    if (response.answers.length === 0) response.authorities.push(createAuthority());
    return response;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.close();
  }
}

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
