/** Starts the receivers of the benchmark of webhooks, and asks for what they got. */

export type Kind = "healthy" | "flaky" | "dead at first" | "slow" | "silent";

export type ReceiverReport = {
  kind: Kind;
  /** Ids of events in the order in which they were accepted, each as often as it was. */
  accepted: string[];
  /** When each event was attempted first, in Unix milliseconds. */
  firstSeen: [id: string, at: number][];
};

export type ReceiversCommand =
  { type: "start"; kinds: readonly Kind[] } | { type: "half" } | { type: "count" | "report" };

/** Starts a receiver of each kind. */
export async function startReceivers(kinds: readonly Kind[]) {
  const thread = new Worker(new URL("./receivers.worker.ts", import.meta.url).href);
  /** One question at a time; the answer is of the type that the thread has for it. */
  const ask = <Answer>(command: ReceiversCommand): Promise<Answer> =>
    new Promise((resolve) => {
      const take = ({ data }: MessageEvent<Answer>): void => resolve(data);
      thread.addEventListener("message", take, { once: true });
      thread.postMessage(command);
    });
  return {
    urls: await ask<string[]>({ type: "start", kinds }),
    /** Half of the events are recorded: the dead one works from now on. */
    reachHalf: (): void => thread.postMessage({ type: "half" } satisfies ReceiversCommand),
    /** How many events each has accepted. */
    count: () => ask<number[]>({ type: "count" }),
    report: () => ask<ReceiverReport[]>({ type: "report" }),
    stop: (): void => thread.terminate(),
  };
}
