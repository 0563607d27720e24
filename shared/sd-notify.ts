/**
 * Notifies systemd that a process is ready, stopping or, for the watchdog, alive (sd_notify(3)).
 * The notification is a datagram to a Unix socket, which neither Bun nor Node can send, so libc is
 * called. Without `NOTIFY_SOCKET` nothing is sent.
 */
import { dlopen, FFIType, ptr } from "bun:ffi";

import type { Log } from "./log.ts";

const AF_UNIX = 1;
const SOCK_DGRAM = 2;

/** Longest path of a socket address, including its NUL (unix(7)). */
const PATH_BYTES_MAX = 108;

export type Notifier = {
  ready(): void;
  stopping(): void;
};

/** Reads `NOTIFY_SOCKET` and `WATCHDOG_USEC`, the watchdog's timeout, from `env`. */
export function createNotifier(env: Record<string, string | undefined>, log: Log): Notifier {
  const path = env["NOTIFY_SOCKET"] ?? "";
  const send = path === "" ? undefined : openSocket(path, log);
  const watchdogMs = Number(env["WATCHDOG_USEC"] ?? 0) / 1_000;
  return {
    ready() {
      send?.("READY=1");
      // Sent from the event loop: when that hangs, no notification is sent and systemd restarts the
      // process.
      if (watchdogMs > 0) setInterval(() => send?.("WATCHDOG=1"), watchdogMs / 2).unref();
    },
    stopping: () => send?.("STOPPING=1"),
  };
}

function openSocket(path: string, log: Log): ((text: string) => void) | undefined {
  try {
    const { symbols } = dlopen("libc.so.6", {
      socket: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
      sendto: {
        args: [FFIType.i32, FFIType.ptr, FFIType.u64, FFIType.i32, FFIType.ptr, FFIType.u32],
        returns: FFIType.i64,
      },
    });
    const address = encodeAddress(path);
    const socket = symbols.socket(AF_UNIX, SOCK_DGRAM, 0);
    return (text) => {
      const bytes = Buffer.from(text);
      const sent = symbols.sendto(
        socket,
        ptr(bytes),
        bytes.length,
        0,
        ptr(address),
        address.length,
      );
      if (Number(sent) !== bytes.length) log.warn({ text }, "sd_notify_failed");
    };
  } catch (error) {
    log.warn({ error }, "sd_notify_failed");
    return undefined;
  }
}

/**
 * Encodes family and path as a socket address; a path that begins with `@` is in the abstract
 * namespace.
 */
function encodeAddress(path: string): Buffer {
  const name = Buffer.from(path.startsWith("@") ? `\0${path.slice(1)}` : `${path}\0`);
  if (name.length > PATH_BYTES_MAX) throw new Error(`The path of a socket is too long: ${path}`);
  const family = Buffer.alloc(2);
  family.writeUInt16LE(AF_UNIX);
  return Buffer.concat([family, name]);
}
