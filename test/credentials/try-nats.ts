/** Tries what a user of NATS may publish and subscribe to, and what crosses between two regions. */
import { connect as connectTcp } from "node:net";

import type { NatsConnection } from "nats";

import { eventually } from "../harness/eventually.ts";
import type { NatsRight } from "./nats-rights.ts";
import type { RegionRight } from "./region-rights.ts";
import type { Attempt } from "./rights.ts";

const CROSSING_MS = 10_000;

type Tried = Pick<NatsRight, "operation" | "subjects">;

const describe = (operation: string, subject: string): string => `${operation} ${subject}`;

/**
 * Publishes or subscribes to all subjects on one connection, in NATS's own protocol: a server
 * reports what it refuses before it responds to the PING that follows. Resolves to what it refused;
 * rejects when it refuses the login.
 */
function findRefused(url: string, all: readonly Tried[]): Promise<ReadonlySet<string>> {
  const { hostname, port, username: user, password: pass } = new URL(url);
  const operations = all
    .flatMap(({ operation, subjects }) =>
      subjects.map((subject) =>
        operation === "publish" ? `PUB ${subject} 0\r\n` : `SUB ${subject}`,
      ),
    )
    .map((line, i) => (line.startsWith("SUB") ? `${line} ${i}` : line));
  const lines = [
    `CONNECT ${JSON.stringify({ user, pass, verbose: false })}`,
    ...operations,
    "PING",
    "",
  ];
  return new Promise((resolve, reject) => {
    let received = "";
    const socket = connectTcp(Number(port), hostname, () => socket.write(lines.join("\r\n")));
    socket.setEncoding("utf8");
    socket.on("error", reject);
    socket.on("close", () => reject(new Error(`The server closed the connection: ${received}`)));
    socket.on("data", (text: string) => {
      received += text;
      if (received.includes("-ERR 'Authorization")) reject(new Error(received));
      if (!/^PONG\r$/m.test(received)) return;
      const refused = [...received.matchAll(/^-ERR 'Permissions Violation for (\w+) to "(\S+)"/gm)];
      resolve(
        new Set(
          refused.map(([, operation = "", subject = ""]) =>
            describe(operation === "Publish" ? "publish" : "subscribe", subject),
          ),
        ),
      );
      socket.destroy();
    });
  });
}

/** Tries all rows as the user of the URL; returns a function that says how each went. */
export async function tryNats<Row extends Tried>(
  url: string,
  rows: readonly Row[],
): Promise<(row: Row) => Promise<Attempt[]>> {
  const refused = await findRefused(url, rows);
  return ({ operation, subjects }) =>
    Promise.resolve(
      subjects.map((subject) => {
        const tried = describe(operation, subject);
        return { tried, refused: refused.has(tried) };
      }),
    );
}

/** A call in another region arrives there as one of its own. */
const asReceived = (subject: string): string => subject.replace(/^\$JS\.\w+\.API\./, "$JS.API.");

/**
 * Publishes every subject in one region, as a user who may publish everything there, and sees what
 * arrives in the other. `last` is a subject that crosses; messages of one connection arrive in
 * their order.
 */
export async function tryCrossing(
  from: NatsConnection,
  to: NatsConnection,
  rows: readonly RegionRight[],
  last: string,
): Promise<(row: RegionRight) => Promise<Attempt[]>> {
  // Each message has the subject it was published with: JetStream maps those of calls in another
  // region.
  const arrived = new Set<string>();
  const subjects = rows.flatMap((row) => row.subjects).filter((subject) => subject !== last);
  for (const subject of [...subjects, last])
    to.subscribe(asReceived(subject), {
      callback: (_, message) => void arrived.add(message.string()),
    });
  await to.flush();
  const send = async (text: string): Promise<void> => {
    from.publish(last, text);
    await from.flush();
    if (!arrived.has(text)) throw new Error(`${last} has not arrived.`);
  };
  // Once a message arrives, the other server knows of all subscriptions.
  await eventually(() => send("before"), CROSSING_MS);
  for (const subject of subjects) from.publish(subject, subject);
  await eventually(() => send(last), CROSSING_MS);
  return (row) =>
    Promise.resolve(
      row.subjects.map((subject) => ({
        tried: subject,
        refused: !arrived.has(subject),
      })),
    );
}
