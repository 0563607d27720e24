/** A disk that changes what was written. */
import { closeSync, fstatSync, openSync, readFileSync, readSync, writeSync } from "node:fs";

/** Flips one bit of a file, at a part of its length: 0.5 is its middle. */
export function flipBit(path: string, part = 0.5): void {
  const file = openSync(path, "r+");
  flipBitAt(file, path, Math.floor(fstatSync(file).size * part));
  closeSync(file);
}

/** Flips one bit of the last place where a file has one of these texts; returns whether it has. */
export function flipBitOf(path: string, texts: Iterable<string>): boolean {
  const content = readFileSync(path);
  for (const text of texts) {
    const position = content.lastIndexOf(text);
    if (position === -1) continue;
    const file = openSync(path, "r+");
    flipBitAt(file, path, position + Math.floor(text.length / 2));
    closeSync(file);
    return true;
  }
  return false;
}

function flipBitAt(file: number, path: string, position: number): void {
  const byte = Buffer.alloc(1);
  if (readSync(file, byte, 0, 1, position) !== 1) throw new Error(`${path} is empty.`);
  byte[0] = (byte[0] ?? 0) ^ 0b100;
  writeSync(file, byte, 0, 1, position);
}
