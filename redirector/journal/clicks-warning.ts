/** What an operator should know about clicks that wait in the journal. */

/** A NATS cluster elects another leader sooner. */
const WAITING_WARNING_SECONDS = 30;

/** As the alert ShorthopJournalFilling. */
const FULL_WARNING = 0.5;

type Waiting = { segments: number; seconds: number; journalBytes: number; journalBytesMax: number };

/** Says that NATS does not take clicks, or that the journal fills; undefined when neither is so. */
export function clicksWarning(waiting: Waiting): string | undefined {
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
