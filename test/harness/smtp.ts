/** A real SMTP server on loopback that keeps the mails it accepts. */
import { SMTPServer, type SMTPServerSession } from "smtp-server";

export type ReceivedMail = { from: string; to: string[]; raw: string };

/** What the server does; each step accepts unless it throws, by default all of them. */
type Behaviour = {
  /** Throws to refuse a recipient. */
  onRecipient?: (address: string) => Promise<void> | void;
  /** Throws to refuse a message that was read. */
  onMessage?: (mail: ReceivedMail, session: SMTPServerSession) => Promise<void> | void;
};

/** A refusal with an SMTP status. */
export const refusal = (responseCode: number): Error =>
  Object.assign(new Error("No."), { responseCode });

export async function startSmtp(behaviour: Behaviour = {}) {
  const received: ReceivedMail[] = [];
  const sockets = new Set<{ destroy(): void }>();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    disableReverseLookup: true,
    onRcptTo({ address }, _session, done) {
      Promise.try(() => behaviour.onRecipient?.(address)).then(() => done(), done);
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope;
        const mail = {
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks).toString(),
        };
        received.push(mail);
        Promise.try(() => behaviour.onMessage?.(mail, session)).then(() => done(), done);
      });
    },
  });
  server.on("error", () => undefined);
  server.server.on("connection", (socket: { destroy(): void }) => sockets.add(socket));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const disconnect = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return {
    received,
    port,
    url: `smtp://127.0.0.1:${port}`,
    /** Closes every connection, in whatever state. */
    disconnect,
    async [Symbol.asyncDispose]() {
      disconnect();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** A header of a mail, unfolded; undefined without it. */
export function headerOf({ raw }: ReceivedMail, name: string): string | undefined {
  const [head = ""] = raw.split("\r\n\r\n");
  const unfolded = head.replaceAll(/\r\n[ \t]+/g, " ").split("\r\n");
  const line = unfolded.find((text) => text.toLowerCase().startsWith(`${name.toLowerCase()}: `));
  return line?.slice(name.length + 2);
}

/** The content of a part of a mail by its type, decoded. */
export function partOf({ raw }: ReceivedMail, type: string): string {
  const boundary = /boundary="([^"]+)"/.exec(raw)?.[1] ?? "";
  const part =
    raw.split(`--${boundary}`).find((text) => text.includes(`Content-Type: ${type}`)) ?? "";
  const [head = "", ...body] = part.split("\r\n\r\n");
  const text = body.join("\r\n\r\n").trim();
  if (/base64/i.test(head)) return Buffer.from(text, "base64").toString();
  if (!/quoted-printable/i.test(head)) return text.replaceAll("\r\n", "\n");
  const bytes = text
    .replaceAll("=\r\n", "")
    .replaceAll("\r\n", "\n")
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) =>
      String.fromCodePoint(Number.parseInt(hex, 16)),
    );
  return Buffer.from(bytes, "latin1").toString();
}
