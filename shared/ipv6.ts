/** IPv6 addresses as numbers. */

/** Parses a valid IPv6 address into its eight 16-bit words; a zone (`%eth0`) is ignored. */
export function parseIpv6(address: string): number[] {
  const [bare = ""] = address.split("%");
  const [left = "", right] = bare.split("::");
  const before = parseHexWords(left);
  if (right === undefined) return before;
  const after = parseHexWords(right);
  const zeros = 8 - before.length - after.length;
  return [...before, ...Array<number>(zeros).fill(0), ...after];
}

/** Parses the words on one side of `::`; the last 32 bits may be written as an IPv4 address. */
function parseHexWords(text: string): number[] {
  if (text === "") return [];
  return text.split(":").flatMap((word) => {
    if (!word.includes(".")) return Number.parseInt(word, 16);
    const [a = 0, b = 0, c = 0, d = 0] = word.split(".").map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}
