/** Watches all streams of the links feed; the feed is complete when each stream is. */
import { type FeedWatch, type FeedWatchDeps, startFeedWatch } from "./feed-watch.ts";

export type FeedWatches = FeedWatch & {
  /** 1 if the stream has every link, else 0; contains only streams whose state is known. */
  completeStreams(): Record<string, number>;
};

/** Starts a watch of each stream. */
export function startFeedWatches({ streams, ...deps }: Omit<FeedWatchDeps, "stream">): FeedWatches {
  const watches = streams.map((stream) => ({
    name: stream.name,
    watch: startFeedWatch({ ...deps, stream, streams }),
  }));
  /** Joins the problems of the streams; undefined when there is none. */
  const join = (describe: (watch: FeedWatch) => string | undefined): string | undefined => {
    const problems = new Set(watches.flatMap(({ watch }) => describe(watch) ?? []));
    return problems.size === 0 ? undefined : [...problems].join("; ");
  };
  return {
    started: () => watches.every(({ watch }) => watch.started()),
    complete() {
      const known = new Set(watches.map(({ watch }) => watch.complete()));
      return known.has(undefined) ? undefined : !known.has(false);
    },
    completeStreams: () =>
      Object.fromEntries(
        watches.flatMap(({ name, watch }) => {
          const complete = watch.complete();
          return complete === undefined ? [] : [[name, Number(complete)]];
        }),
      ),
    filledLinks: () => watches.reduce((sum, { watch }) => sum + watch.filledLinks(), 0),
    problem: () => join((watch) => watch.problem()),
    databaseProblem: () => join((watch) => watch.databaseProblem()),
    stop: async () => void (await Promise.all(watches.map(({ watch }) => watch.stop()))),
  };
}
