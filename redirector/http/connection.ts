/** The state of one connection, and the bounds it is held to. */

/** How long a request may take to arrive, an answer to be taken, and a connection to be silent. */
const REQUEST_SECONDS = 5;
const ANSWER_SECONDS = 30;
const IDLE_SECONDS = 60;

/** Bytes that may wait for their turn; who sends more ahead is cut off. */
const INPUT_BYTES_MAX = 64 * 1024;

/** The state of one connection. */
export type Connection = {
  /** Whose connection it is, in the normal form of an address. */
  peer: string;
  /** Whether a proxy has still to say so. */
  unannounced: boolean;
  /** Bytes that are no whole request yet, or wait for their turn. */
  input: Buffer | undefined;
  /** What the other end has not taken yet. */
  unsent: Buffer | undefined;
  /** Whether its bytes are being gone through. */
  reading: boolean;
  /** Whether an answer is waited for. */
  waiting: boolean;
  /** Whether nothing more is read. */
  closing: boolean;
  /** Whether the other end has said all it will. */
  ended: boolean;
  /** Whether answers are in the outbox. */
  answered: boolean;
  /** When the present state began, in seconds of the sweep. */
  since: number;
};

/** A connection that has just begun. */
export const newConnection = (peer: string, unannounced: boolean, seconds: number): Connection => ({
  peer,
  unannounced,
  input: undefined,
  unsent: undefined,
  reading: false,
  waiting: false,
  closing: false,
  ended: false,
  answered: false,
  since: seconds,
});

/** Whether the next request may be looked at. */
export const mayRead = ({ waiting, closing, unsent }: Connection): boolean =>
  !waiting && !closing && unsent === undefined;

/** Keeps what is left of `bytes` from `from` on until it is whole, or its turn has come. */
export function keepInput(
  connection: Connection,
  bytes: Buffer,
  from: number,
  seconds: number,
): void {
  const rest = bytes.length - from;
  if (rest > INPUT_BYTES_MAX) connection.closing = true;
  if (connection.closing || rest === 0) {
    connection.input = undefined;
    return;
  }
  if (connection.input === undefined || from > 0) connection.since = seconds;
  connection.input = from === 0 ? bytes : Buffer.from(bytes.subarray(from));
}

/** Whether the present state has lasted longer than it may. */
export function isOverdue({ unsent, waiting, input, since }: Connection, seconds: number): boolean {
  const age = seconds - since;
  if (unsent !== undefined) return age > ANSWER_SECONDS;
  return age > (input !== undefined && !waiting ? REQUEST_SECONDS : IDLE_SECONDS);
}
