/** A DNS server on loopback, for what is proved by TXT records. */
import dns2, { type DnsServer } from "dns2";

const { Packet } = dns2;

const SERVFAIL = 2;
const NXDOMAIN = 3;

export type Dns = {
  /** `address:port`, as `DNS_SERVERS` takes it. */
  address: string;
  /** Sets the TXT records at a name; `fail` makes the server refuse to answer for it. */
  set(name: string, records: readonly string[] | "fail"): void;
  [Symbol.asyncDispose](): Promise<void>;
};

export async function startDns(): Promise<Dns> {
  const names = new Map<string, readonly string[] | "fail">();
  const server: DnsServer = dns2.createServer({
    udp: true,
    handle(request, send) {
      const response = Packet.createResponseFromRequest(request);
      const [question] = request.questions;
      const name = question?.name.toLowerCase() ?? "";
      const records = names.get(name);
      if (records === undefined) response.header.rcode = NXDOMAIN;
      else if (records === "fail") response.header.rcode = SERVFAIL;
      else {
        const { TYPE, CLASS, Resource } = Packet;
        for (const data of records)
          response.answers.push(Object.assign(new Resource(name, TYPE.TXT, CLASS.IN, 0), { data }));
      }
      void send(response);
    },
  });
  await server.listen({ udp: { port: 0, address: "127.0.0.1" } });
  const { udp } = server.addresses();
  return {
    address: `127.0.0.1:${udp?.port}`,
    set: (name, records) => void names.set(name.toLowerCase(), records),
    async [Symbol.asyncDispose]() {
      await server.close();
    },
  };
}
