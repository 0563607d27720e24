/** A disk that changes what was written. */
import { closeSync, fstatSync, openSync, readSync, writeSync } from "node:fs";

/** Flips one bit of a file, at a part of its length: 0.5 is its middle. */
export function flipBit(path: string, part = 0.5): void {
  const file = openSync(path, "r+");
  const byte = Buffer.alloc(1);
  const position = Math.floor(fstatSync(file).size * part);
  if (readSync(file, byte, 0, 1, position) !== 1) throw new Error(`${path} is empty.`);
  byte[0] = (byte[0] ?? 0) ^ 0b100;
  writeSync(file, byte, 0, 1, position);
  closeSync(file);
}
