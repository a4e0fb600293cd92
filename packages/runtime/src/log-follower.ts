import { type FileHandle, open } from "node:fs/promises";
import { LineSplitter, type SplitLine } from "./line-splitter.ts";
import { errorCode } from "./wait.ts";

const READ_BYTES = 64 * 1024;

/** Reads one growing file, line by line. The file may not exist yet, and may be emptied by its reader. */
export class LogFollower {
  readonly stream: "stdout" | "stderr";
  readonly #path: string;
  readonly #buffer = Buffer.alloc(READ_BYTES);
  #splitter: LineSplitter;
  #file: FileHandle | null = null;
  #grewAt = performance.now();

  constructor(stream: "stdout" | "stderr", path: string, offset: number) {
    this.stream = stream;
    this.#path = path;
    this.#splitter = new LineSplitter(offset);
  }

  /** Reads at most 64 KiB. `grew` is false at the end of the file. */
  async read(): Promise<{ grew: boolean; complete: SplitLine[] }> {
    const file = await this.#open();
    if (file === null) return { grew: false, complete: [] };
    const { size } = await file.stat();
    if (size < this.#splitter.position) this.#splitter = new LineSplitter();
    const { bytesRead } = await file.read(this.#buffer, 0, READ_BYTES, this.#splitter.position);
    if (bytesRead === 0) return { grew: false, complete: [] };
    this.#grewAt = performance.now();
    return { grew: true, complete: this.#splitter.push(this.#buffer.subarray(0, bytesRead)) };
  }

  /** Hands out a partial line when the file has not grown for `quietMs`. */
  flushIfQuiet(quietMs: number, final: boolean): SplitLine[] {
    return performance.now() - this.#grewAt >= quietMs ? this.#splitter.flush(final) : [];
  }

  /** Empties the file when all of it was read and no partial line is held. False: it was left alone. */
  async emptyIfRead(): Promise<boolean> {
    const file = this.#file;
    if (file === null || this.#splitter.consumed !== this.#splitter.position) return false;
    // Nothing may be awaited between the two but the calls themselves: what is written in between would be lost.
    if ((await file.stat()).size !== this.#splitter.position) return false;
    await file.truncate(0);
    this.#splitter = new LineSplitter();
    return true;
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = null;
  }

  async #open(): Promise<FileHandle | null> {
    if (this.#file !== null) return this.#file;
    try {
      this.#file = await open(this.#path, "r+");
      return this.#file;
    } catch (error) {
      if (errorCode(error) === "ENOENT") return null;
      throw error;
    }
  }
}
