/**
 * Threads by the paths of their modules. An executable has all of its modules in one folder, and
 * `import.meta.url` is that of the executable in each of them.
 */
const ROOT = new URL(import.meta.path.startsWith("/$bunfs/") ? "./" : "../", import.meta.url);

/** Starts the thread of a module, whose path is that from the root of the project. */
export const spawnWorker = (path: string): Worker => new Worker(new URL(path, ROOT));

/** A thread without which the process must not continue: its failure is one of the process. */
export class Thread<Command, Event> {
  readonly #worker: Worker;

  /** Starts the thread of a module, as {@link spawnWorker} does. */
  constructor(path: string, onEvent: (event: Event) => void) {
    this.#worker = spawnWorker(path);
    this.#worker.addEventListener("message", ({ data }: MessageEvent<Event>) => onEvent(data));
    this.#worker.addEventListener("error", (event) => {
      throw new Error(`The thread of ${path} failed.`, { cause: event.error ?? event.message });
    });
  }

  send(command: Command): void {
    this.#worker.postMessage(command);
  }

  terminate(): void {
    this.#worker.terminate();
  }
}
