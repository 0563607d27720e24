/**
 * One pull of messages of a stream, bounded in number, in bytes and in time. NATS ends a connection
 * for which too many bytes wait, and a thousand links with many rules are as large as a hundred
 * thousand others. The client's own pulls are bounded in number or in bytes.
 */
import {
  AckPolicy,
  type ConsumerConfig,
  type ConsumerInfo,
  createInbox,
  type JetStreamManager,
  type JsMsg,
  type Msg,
  nanos,
  type NatsConnection,
  NatsError,
  type Subscription,
} from "nats";
import { toJsMsg } from "nats/lib/jetstream/jsmsg.js";

import { PULL_BYTES_MAX } from "../../shared/contracts/streams.ts";

/**
 * How long one pull waits for messages, and so how often a follower compares its place with the
 * stream.
 */
const EXPIRES_MS = 1_000;

/**
 * How much later than requested a pull may end. After that the consumer counts as lost, as its
 * server has probably ended.
 */
const GRACE_MS = 300;

const MESSAGES_MAX = 5_000;

/** The server deletes a consumer that has not pulled for this long. */
const CONSUMER_INACTIVE_MS = 30_000;

/** Statuses of a request that cannot succeed, because it is wrong or its consumer is gone. */
const FAILURES: ReadonlySet<number> = new Set([400, 503]);

/** Adds a consumer for pulls, which delivers what `config` says. */
export const addConsumer = (
  manager: JetStreamManager,
  stream: string,
  config: Partial<ConsumerConfig>,
): Promise<ConsumerInfo> =>
  manager.consumers.add(stream, {
    ack_policy: AckPolicy.None,
    inactive_threshold: nanos(CONSUMER_INACTIVE_MS),
    mem_storage: true,
    num_replicas: 1,
    ...config,
  });

export class StreamPull {
  readonly #inbox: string;
  readonly #subscription: Subscription;
  readonly #overdue: Timer;

  constructor(
    connection: NatsConnection,
    { stream_name: stream, name }: ConsumerInfo,
    inboxPrefix: string | undefined,
  ) {
    this.#inbox = createInbox(inboxPrefix);
    this.#subscription = connection.subscribe(this.#inbox);
    this.#overdue = setTimeout(() => this.stop(), EXPIRES_MS + GRACE_MS);
    const request = { batch: MESSAGES_MAX, max_bytes: PULL_BYTES_MAX, expires: nanos(EXPIRES_MS) };
    connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`, JSON.stringify(request), {
      reply: this.#inbox,
    });
  }

  /** Ends the pull, after the messages that have arrived. */
  stop(): void {
    clearTimeout(this.#overdue);
    this.#subscription.unsubscribe();
  }

  /** The messages, until the pull ends; throws at the end when it has failed. */
  async *[Symbol.asyncIterator](): AsyncGenerator<JsMsg> {
    let left = MESSAGES_MAX;
    try {
      for await (const message of this.#subscription) {
        // A status has the inbox as its subject, a message that of its stream.
        if (message.subject === this.#inbox) {
          requireSuccess(message);
          return;
        }
        yield toJsMsg(message);
        if (--left === 0) return;
      }
    } finally {
      this.stop();
    }
  }
}

/** The server ends a pull that has enough messages or bytes, or has waited long enough. */
function requireSuccess({ headers }: Msg): void {
  const code = headers?.code ?? 0;
  if (FAILURES.has(code)) throw new NatsError(`${headers?.description}`, `${code}`);
}
