import { dlopen, FFIType, ptr } from "bun:ffi";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";

import { dirForFile } from "../test/harness/for-file.ts";
import { Notifier } from "./lifecycle.ts";
import { processLog } from "./log.ts";

const dir = dirForFile("shorthop-notify-");

const log = processLog("test", "fatal");

/**
 * Listens as systemd does. Returns a function that returns the datagrams received since its last
 * call.
 */
function listen(path: string) {
  const { symbols } = dlopen("libc.so.6", {
    socket: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
    bind: { args: [FFIType.i32, FFIType.ptr, FFIType.u32], returns: FFIType.i32 },
    recv: {
      args: [FFIType.i32, FFIType.ptr, FFIType.u64, FFIType.i32],
      returns: FFIType.i64,
    },
  });
  const socket = symbols.socket(1, 2, 0);
  const address = Buffer.concat([Buffer.from([1, 0]), Buffer.from(`${path}\0`)]);
  if (symbols.bind(socket, ptr(address), address.length) !== 0) throw new Error("Cannot listen.");
  const buffer = Buffer.alloc(256);
  const DONT_WAIT = 0x40;
  return (): string[] => {
    const messages: string[] = [];
    for (;;) {
      const length = Number(symbols.recv(socket, ptr(buffer), buffer.length, DONT_WAIT));
      if (length < 0) return messages;
      messages.push(buffer.toString("utf8", 0, length));
    }
  };
}

describe("systemd", () => {
  test("is notified when a process is ready, alive and stopping", async () => {
    const path = join(dir, "socket");
    const received = listen(path);
    const notifier = new Notifier({ NOTIFY_SOCKET: path, WATCHDOG_USEC: "40000" }, log);
    expect(received()).toEqual([]);
    notifier.ready();
    await Bun.sleep(100);
    const [first, ...rest] = received();
    expect(first).toBe("READY=1");
    expect(new Set(rest)).toEqual(new Set(["WATCHDOG=1"]));
    notifier.stopping();
    expect(received()).toContain("STOPPING=1");
  });

  test("is not needed", () => {
    const notifier = new Notifier({}, log);
    notifier.ready();
    notifier.stopping();
  });
});
