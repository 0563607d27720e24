/** A disk that changes what was written. */
import { closeSync, openSync, readFileSync, readSync, statSync, writeSync } from "node:fs";

/** Flips one bit of a file, at a position in bytes: by default in its middle. */
export function flipBit(path: string, position = Math.floor(statSync(path).size / 2)): void {
  const file = openSync(path, "r+");
  const byte = Buffer.alloc(1);
  if (readSync(file, byte, 0, 1, position) !== 1) throw new Error(`${path} is empty.`);
  byte[0] = (byte[0] ?? 0) ^ 0b100;
  writeSync(file, byte, 0, 1, position);
  closeSync(file);
}

/**
 * Flips one bit of a text wherever a file has it: a database may have moved it, and left a copy.
 * Throws when the file does not have it.
 */
export function flipBitOf(path: string, text: string): void {
  const content = readFileSync(path);
  let position = content.indexOf(text);
  if (position === -1) throw new Error(`${path} does not have ${text}.`);
  for (; position !== -1; position = content.indexOf(text, position + 1))
    flipBit(path, position + Math.floor(text.length / 2));
}
