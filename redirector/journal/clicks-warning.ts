/** Warns operators about clicks that wait in the journal. */

/** Longer than a NATS cluster needs to elect a new leader. */
const WAITING_WARNING_SECONDS = 30;

/** The same threshold as the alert ShorthopJournalFilling. */
const FULL_WARNING = 0.5;

type ClicksBacklog = {
  segments: number;
  seconds: number;
  journalBytes: number;
  journalBytesMax: number;
};

/**
 * Describes that NATS accepts no clicks, or that the journal is filling; undefined when neither is
 * the case.
 */
export function clicksWarning(waiting: ClicksBacklog): string | undefined {
  const { segments, seconds, journalBytes, journalBytesMax } = waiting;
  const share = journalBytes / journalBytesMax;
  const problems = [
    ...(seconds < WAITING_WARNING_SECONDS
      ? []
      : [`NATS has taken none of ${segments} segments for ${Math.floor(seconds)} s`]),
    ...(share < FULL_WARNING
      ? []
      : [`the journal is ${Math.floor(100 * share)} % full; when it is full, clicks are lost`]),
  ];
  return problems.length === 0 ? undefined : problems.join("; ");
}
