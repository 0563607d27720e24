/** Texts as a server sends them: in chunks, which end anywhere. */
export async function* inChunks(text: string, bytes: number): AsyncGenerator<Uint8Array> {
  const whole = Buffer.from(text);
  for (let at = 0; at < whole.length; at += bytes) {
    await Promise.resolve();
    yield whole.subarray(at, at + bytes);
  }
}
