/**
 * Threads by the paths of their modules. An executable has all of its modules in one folder, and
 * `import.meta.url` is that of the executable in each of them.
 */
const ROOT = new URL(import.meta.path.startsWith("/$bunfs/") ? "./" : "../", import.meta.url);

/** Starts the thread of a module, whose path is that from the root of the project. */
export const spawnWorker = (path: string): Worker => new Worker(new URL(path, ROOT));
