/**
 * Goal: however many clients pipeline, their input takes bounded memory, and one request at a time
 * is always buffered.
 */
import { expect, test } from "bun:test";

import fc from "fast-check";

import { Connection } from "./connection.ts";
import { type BufferedSocket, InputBuffers } from "./input-buffers.ts";

const KIB = 1024;

/** The longest request: a head of 16 KiB, a form, and what its chunks have around it. */
const REQUEST_BYTES = 21 * KIB;

const PIPELINED_BYTES = 1024 * KIB;

/** A connection that has had its turn. */
const socketOf = (): BufferedSocket => ({
  data: Object.assign(new Connection("203.0.113.1", false, 0), { hadTurn: true }),
  pause: () => undefined,
  resume: () => undefined,
});

const lengthOf = ({ data }: BufferedSocket): number => data.input?.length ?? 0;

test("clients that pipeline more than there is room for are disconnected, and the others keep their input", () => {
  const inputs = new InputBuffers(PIPELINED_BYTES);
  const sockets = Array.from({ length: 6 }, socketOf);
  for (const socket of sockets) inputs.buffer(socket, Buffer.alloc(400 * KIB), 0, 0);
  expect(sockets.map(lengthOf)).toEqual([400 * KIB, 400 * KIB, 0, 0, 0, 0]);
  expect(sockets.map(({ data }) => data.closing)).toEqual([false, false, true, true, true, true]);
  // What they go on sending is not read.
  for (const { data } of sockets) expect([data.paused, data.lingers]).toEqual([true, false]);
});

test("a client that sends one request at a time is never disconnected for what others pipeline", () => {
  const inputs = new InputBuffers(PIPELINED_BYTES);
  inputs.buffer(socketOf(), Buffer.alloc(PIPELINED_BYTES), 0, 0);
  for (let i = 0; i < 100; i++) {
    const socket = socketOf();
    socket.data.hadTurn = false;
    inputs.buffer(socket, Buffer.alloc(REQUEST_BYTES), 0, 0);
    expect([lengthOf(socket), socket.data.closing]).toEqual([REQUEST_BYTES, false]);
  }
});

test("a client that sends more than a request while it waits for a response is paused until it comes", () => {
  const inputs = new InputBuffers(PIPELINED_BYTES);
  const socket = socketOf();
  Object.assign(socket.data, { hadTurn: false, awaitingResponse: true });
  const bytes = Buffer.alloc(400 * KIB);
  inputs.buffer(socket, bytes, 0, 0);
  expect([lengthOf(socket), socket.data.paused, socket.data.closing]).toEqual([
    bytes.length,
    true,
    false,
  ]);
  socket.data.awaitingResponse = false;
  inputs.buffer(socket, bytes, bytes.length - REQUEST_BYTES, 0);
  expect([lengthOf(socket), socket.data.paused]).toEqual([REQUEST_BYTES, false]);
});

test("a client that goes on sending behind its last request is not reset for lack of room", () => {
  const inputs = new InputBuffers(PIPELINED_BYTES);
  inputs.buffer(socketOf(), Buffer.alloc(PIPELINED_BYTES), 0, 0);
  const socket = socketOf();
  socket.data.closing = true;
  inputs.buffer(socket, Buffer.alloc(400 * KIB), 0, 0);
  expect([lengthOf(socket), socket.data.paused, socket.data.lingers]).toEqual([0, false, true]);
});

test("there is as much room as all inputs leave, whatever was buffered, read and dropped before", () => {
  const anyStep = fc.record({
    who: fc.nat({ max: 7 }),
    length: fc.integer({ min: 0, max: 512 * KIB }),
    read: fc.nat({ max: 512 * KIB }),
    isDropped: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 60 }), (steps) => {
      const inputs = new InputBuffers(PIPELINED_BYTES);
      const sockets = Array.from({ length: 8 }, socketOf);
      const bytes = Buffer.alloc(512 * KIB);
      for (const { who, length, read, isDropped } of steps) {
        const socket = sockets[who] ?? socketOf();
        socket.data.closing = false;
        if (isDropped) inputs.drop(socket.data);
        else inputs.buffer(socket, bytes.subarray(0, length), Math.min(read, length), 0);
        const pipelined = sockets.map(lengthOf).filter((size) => size > 32 * KIB);
        expect(pipelined.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(PIPELINED_BYTES);
      }
      for (const { data } of sockets) inputs.drop(data);
      const last = socketOf();
      inputs.buffer(last, Buffer.alloc(PIPELINED_BYTES), 0, 0);
      expect(lengthOf(last)).toBe(PIPELINED_BYTES);
    }),
  );
});
