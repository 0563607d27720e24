/** A disk that changes what was written. */
import { closeSync, fstatSync, openSync, readFileSync, readSync, writeSync } from "node:fs";

/** Flips one bit of a file, at a part of its length: 0.5 is its middle. */
export function flipBit(path: string, part = 0.5): void {
  const file = openSync(path, "r+");
  flipBitAt(file, path, Math.floor(fstatSync(file).size * part));
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
  const file = openSync(path, "r+");
  for (; position !== -1; position = content.indexOf(text, position + 1))
    flipBitAt(file, path, position + Math.floor(text.length / 2));
  closeSync(file);
}

function flipBitAt(file: number, path: string, position: number): void {
  const byte = Buffer.alloc(1);
  if (readSync(file, byte, 0, 1, position) !== 1) throw new Error(`${path} is empty.`);
  byte[0] = (byte[0] ?? 0) ^ 0b100;
  writeSync(file, byte, 0, 1, position);
}
