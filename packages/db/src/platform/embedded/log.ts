import { open, rename, stat } from "node:fs/promises";
import { StringDecoder } from "node:string_decoder";
import { unless } from "./errors.ts";

const POLL_MS = 250;
const CHUNK_BYTES = 64 * 1024;
/** A log that grew past this is put aside at the next start, replacing the one put aside before. */
const KEEP_BYTES = 8 * 1024 * 1024;

/** Size of the file in bytes, 0 when it does not exist. */
export async function fileSize(path: string): Promise<number> {
  return (await unless(stat(path), "ENOENT"))?.size ?? 0;
}

/** Puts an overgrown log aside as "<path>.old". Only while no server writes to it. */
export async function putAsideLargeLog(path: string, limitBytes: number = KEEP_BYTES): Promise<void> {
  if ((await fileSize(path)) > limitBytes) await rename(path, `${path}.old`);
}

/** The text of the file from a byte position to its end. */
export async function readFrom(path: string, position: number): Promise<string> {
  const lines: string[] = [];
  const follower = followLog(path, position, (line) => lines.push(line));
  await follower.stop();
  return lines.join("\n");
}

/** A running follower of a log file. */
export interface LogFollower {
  /** Delivers what is written so far and ends. */
  stop(): Promise<void>;
}

/**
 * Hands every line written after the byte position to `onLine`, some 250 ms later. The server writes to a file and
 * not to us, because a pipe would break, and the server with it, when this process dies. Does not keep the process
 * alive.
 */
export function followLog(path: string, position: number, onLine: (line: string) => void): LogFollower {
  const decoder = new StringDecoder("utf8");
  const buffer = Buffer.alloc(CHUNK_BYTES);
  let offset = position;
  let rest = "";

  const deliver = async (): Promise<void> => {
    const file = await unless(open(path, "r"), "ENOENT");
    if (!file) return;
    try {
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES, offset);
        if (bytesRead === 0) return;
        offset += bytesRead;
        const lines = (rest + decoder.write(buffer.subarray(0, bytesRead))).split(/\r?\n/);
        rest = lines.pop() ?? "";
        for (const line of lines) onLine(line);
      }
    } finally {
      await file.close();
    }
  };

  // One reading at a time; a failed reading must not end the following, the next one tries again.
  let reading: Promise<void> = Promise.resolve();
  const read = (): Promise<void> => {
    reading = reading.then(deliver).catch(() => undefined);
    return reading;
  };
  const timer = setInterval(read, POLL_MS).unref();
  return {
    async stop() {
      clearInterval(timer);
      await read();
      if (rest !== "") onLine(rest);
      rest = "";
    },
  };
}
