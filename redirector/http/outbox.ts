/** Answers that wait to be sent together, one behind the other in one buffer. */
import { type Answer, ANSWER_BYTES_MAX, type AnswerWriter, type Terms } from "./answer.ts";

const OUTBOX_BYTES = 1024 * 1024;

export type Outbox<Receiver> = {
  /** Adds an answer for `receiver`, behind what it has to get already. */
  add(receiver: Receiver, answer: Answer, terms: Terms): void;
  /** Adds a refusal: see {@link AnswerWriter}. */
  refuse(receiver: Receiver, status: Parameters<AnswerWriter["refuse"]>[0], now: number): void;
  /** Adds `receiver` for nothing but to be heard of when all is sent. */
  touch(receiver: Receiver): void;
  /** Gives everything out: first all answers, by `send`, then each of their receivers, by `sent`. */
  flush(
    send: (receiver: Receiver, bytes: Buffer, start: number, end: number) => void,
    sent: (receiver: Receiver) => void,
  ): void;
  isEmpty(): boolean;
  /** Whether the next answer might not fit. */
  isFull(): boolean;
};

export function createOutbox<Receiver>(writer: AnswerWriter): Outbox<Receiver> {
  const buffer = Buffer.allocUnsafe(OUTBOX_BYTES);
  let end = 0;
  let receivers: Receiver[] = [];
  let ends: number[] = [];

  function touch(receiver: Receiver): void {
    const last = receivers.length - 1;
    if (receivers[last] === receiver) {
      ends[last] = end;
      return;
    }
    receivers.push(receiver);
    ends.push(end);
  }

  return {
    add(receiver, answer, terms) {
      end = writer.write(answer, terms, buffer, end);
      touch(receiver);
    },
    refuse(receiver, status, now) {
      end = writer.refuse(status, now, buffer, end);
      touch(receiver);
    },
    touch,
    flush(send, sent) {
      const [given, givenEnds] = [receivers, ends];
      receivers = [];
      ends = [];
      end = 0;
      let start = 0;
      let i = 0;
      for (const receiver of given) {
        const until = givenEnds[i++] ?? start;
        if (until > start) send(receiver, buffer, start, until);
        start = until;
      }
      for (const receiver of given) sent(receiver);
    },
    isEmpty: () => receivers.length === 0,
    isFull: () => buffer.length - end < ANSWER_BYTES_MAX,
  };
}
