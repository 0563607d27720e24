/** Local times of a source, which it has without their offset, as instants. */

/** Offsets that are remembered: a source has its times in order. */
const HOURS_MAX = 10_000;

const HOUR_LENGTH = "YYYY-MM-DD HH".length;

export class WallClock {
  readonly #zone: string;
  /** The offset of local hours from UTC in milliseconds. */
  readonly #offsets = new Map<string, number>();

  /** `zone` is an IANA name or an offset such as +02:00; throws for another text. */
  constructor(zone: string) {
    this.#zone = zone;
    Temporal.Now.zonedDateTimeISO(zone);
  }

  /**
   * The instant of a local time `YYYY-MM-DD HH:MM:SS`; an invalid date for another text. Of two
   * instants with one local time it is the earlier; a time that a clock skipped is before that.
   */
  toInstant(text: string): Date {
    const utc = Date.parse(`${text.replace(" ", "T")}Z`);
    return new Date(Number.isNaN(utc) ? NaN : utc - this.#offsetOf(text.slice(0, HOUR_LENGTH)));
  }

  /** Offsets change on full hours of local time, or on halves, which one hour's look-up covers. */
  #offsetOf(hour: string): number {
    const known = this.#offsets.get(hour);
    if (known !== undefined) return known;
    if (this.#offsets.size >= HOURS_MAX) this.#offsets.clear();
    const local = Temporal.PlainDateTime.from(`${hour.replace(" ", "T")}:00:00`);
    const { offsetNanoseconds } = local.toZonedDateTime(this.#zone);
    const offset = offsetNanoseconds / 1_000_000;
    this.#offsets.set(hour, offset);
    return offset;
  }
}
