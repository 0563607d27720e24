/** A real SMTP server on loopback that keeps the mails it accepts. */
import { SMTPServer, type SMTPServerSession } from "smtp-server";

export type ReceivedMail = { from: string; to: string[]; raw: string };

/** What the server does; each step accepts unless it throws, by default all of them. */
type Behaviour = {
  /** Throws to refuse a sender. */
  onSender?: (address: string) => Promise<void> | void;
  /** Throws to refuse a recipient. */
  onRecipient?: (address: string) => Promise<void> | void;
  /** Throws to refuse a message that was read. */
  onMessage?: (mail: ReceivedMail, session: SMTPServerSession) => Promise<void> | void;
};

/** A refusal with an SMTP status. */
export const refusal = (responseCode: number, text = "No."): Error =>
  Object.assign(new Error(text), { responseCode });

export class SmtpServer implements AsyncDisposable {
  readonly received: ReceivedMail[] = [];
  readonly #server: SMTPServer;
  readonly #sockets = new Set<{ destroy(): void }>();

  /** Starts a server on a free port. */
  static async start(behaviour: Behaviour = {}): Promise<SmtpServer> {
    const smtp = new SmtpServer(behaviour);
    await new Promise<void>((resolve) => void smtp.#server.listen(0, "127.0.0.1", resolve));
    return smtp;
  }

  private constructor(behaviour: Behaviour) {
    this.#server = new SMTPServer({
      authOptional: true,
      disabledCommands: ["STARTTLS"],
      disableReverseLookup: true,
      onMailFrom({ address }, _session, done) {
        Promise.try(() => behaviour.onSender?.(address)).then(() => done(), done);
      },
      onRcptTo({ address }, _session, done) {
        Promise.try(() => behaviour.onRecipient?.(address)).then(() => done(), done);
      },
      onData: (stream, session, done) => {
        const chunks: Buffer[] = [];
        stream.on("data", (chunk: Buffer) => chunks.push(chunk));
        stream.on("end", () => {
          const { mailFrom, rcptTo } = session.envelope;
          const mail = {
            from: mailFrom === false ? "" : mailFrom.address,
            to: rcptTo.map(({ address }) => address),
            raw: Buffer.concat(chunks).toString(),
          };
          this.received.push(mail);
          Promise.try(() => behaviour.onMessage?.(mail, session)).then(() => done(), done);
        });
      },
    });
    this.#server.on("error", () => undefined);
    this.#server.server.on("connection", (socket: { destroy(): void }) =>
      this.#sockets.add(socket),
    );
  }

  get port(): number {
    const address = this.#server.server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  get url(): string {
    return `smtp://127.0.0.1:${this.port}`;
  }

  /** Closes every connection, in whatever state. */
  disconnect(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.disconnect();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
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
