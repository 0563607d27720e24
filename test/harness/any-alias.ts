/** Aliases for property tests: of all scripts, with emoji, in one or several segments. */
import fc from "fast-check";

const isLetter = /^[\p{L}\p{M}\p{N}]$/u;
const isInvisible = /^\p{Default_Ignorable_Code_Point}$/u;

/** Every letter, mark and digit that one can see. */
const LETTERS: readonly string[] = Array.from({ length: 0x11_00_00 }, (_, code) =>
  String.fromCodePoint(code),
).filter((character) => isLetter.test(character) && !isInvisible.test(character));

/** Emoji of each kind: with a variation, a skin, joiners, tags, a flag and a keycap. */
export const EMOJI = ["🎈", "😀", "❤️", "👍🏽", "🧑🏾‍💻", "👨‍👩‍👧‍👦", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🇩🇪", "1️⃣", "🏻"] as const;

/** Words that the service keeps for itself on every domain. */
const RESERVED = /^(?:healthz|robots\.txt|favicon\.ico|\.well-known)(?:\/|$)/i;

const character = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...Array.from("abcXYZ0189_-.~")) },
  { weight: 3, arbitrary: fc.constantFrom(...LETTERS) },
  { weight: 1, arbitrary: fc.constantFrom(...EMOJI) },
);

const segment = fc
  .string({ unit: character, minLength: 1, maxLength: 16 })
  .filter((text) => !text.endsWith("."));

/** Any alias that a link on a domain of its own can have. */
export const anyAlias = (): fc.Arbitrary<string> =>
  fc
    .array(segment, { minLength: 1, maxLength: 4 })
    .map((segments) => segments.join("/").normalize("NFC"))
    .filter(
      (alias) => !alias.startsWith("-") && Array.from(alias).length <= 64 && !RESERVED.test(alias),
    );
