import { type FSWatcher, mkdirSync, watch } from "node:fs";
import { join } from "node:path";
import type { LogBatch, LogCapture, LogLine, LogOffsets } from "@quayside/contracts";
import { LogFollower } from "./log-follower.ts";

const MAX_BATCH_LINES = 500;
const MAX_BATCH_BYTES = 256 * 1024;
/** File events can be lost or unavailable; the files are looked at this often anyway. */
const POLL_MS = 250;
const QUIET_MS = 1_000;
const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 5_000;
/** Attempts that are still made after `stop`. */
const STOP_ATTEMPTS = 3;
const TRUNCATE_BYTES = 16 * 1024 * 1024;

export interface LogCaptureOptions {
  /** Folder of stdout.log and stderr.log. */
  directory: string;
  from: LogOffsets;
  store(batch: LogBatch): Promise<void>;
  onWarning(message: string): void;
  /** A file larger than this is emptied once all of it is stored. Default 16 MiB. */
  truncateBytes?: number | undefined;
}

interface QueuedLine {
  line: LogLine;
  stream: "stdout" | "stderr";
  end: number;
}

/**
 * Follows the two output files of a release and hands their lines to `store`, in batches of at most 500 lines or 256 KiB.
 * Nothing more is read while `store` runs: the file is the buffer. A batch that is rejected is offered again.
 */
export function startLogCapture(options: LogCaptureOptions): LogCapture {
  const capture = new FileLogCapture(options);
  const done = capture.run();
  return {
    stop() {
      capture.requestStop();
      return done;
    },
  };
}

class FileLogCapture {
  readonly #options: LogCaptureOptions;
  readonly #followers: readonly LogFollower[];
  #offsets: LogOffsets;
  #stopping = false;
  #dirty = false;
  #wake: () => void = () => undefined;

  constructor(options: LogCaptureOptions) {
    this.#options = options;
    this.#offsets = { ...options.from };
    this.#followers = (["stdout", "stderr"] as const).map(
      (stream) => new LogFollower(stream, join(options.directory, `${stream}.log`), options.from[stream]),
    );
  }

  requestStop(): void {
    this.#stopping = true;
    this.#wakeUp();
  }

  /** Resolves after `requestStop`, once all was handed over. Never rejects: trouble is reported as a warning. */
  async run(): Promise<void> {
    const watcher = this.#watch();
    try {
      while (await this.#turn()) await this.#waitForMore();
    } catch (error) {
      this.#options.onWarning(`log capture ended early: ${error instanceof Error ? error.message : "unknown error"}`);
    } finally {
      watcher?.close();
      await Promise.all(this.#followers.map((follower) => follower.close()));
    }
  }

  /** Reads and stores until both files are at their ends. False when the capture is over. */
  async #turn(): Promise<boolean> {
    for (;;) {
      const last = this.#stopping;
      this.#dirty = false;
      const queue: QueuedLine[] = [];
      let grew = false;
      for (const follower of this.#followers) {
        const lines = await follower.read();
        grew ||= lines.grew;
        const flushed = lines.grew ? [] : follower.flushIfQuiet(last ? 0 : QUIET_MS, last);
        const at = new Date();
        for (const { text, end } of [...lines.complete, ...flushed]) {
          queue.push({ line: { at, stream: follower.stream, line: text }, stream: follower.stream, end });
        }
      }
      if (!(await this.#storeAll(queue))) return false;
      if (grew) continue;
      if (last) return false;
      await this.#emptyLargeFiles();
      return true;
    }
  }

  async #storeAll(queue: readonly QueuedLine[]): Promise<boolean> {
    let from = 0;
    while (from < queue.length) {
      const lines: LogLine[] = [];
      const offsets = { ...this.#offsets };
      let bytes = 0;
      for (; from < queue.length && lines.length < MAX_BATCH_LINES; from += 1) {
        const next = queue[from];
        if (next === undefined) break;
        bytes += Buffer.byteLength(next.line.line);
        if (bytes > MAX_BATCH_BYTES && lines.length > 0) break;
        lines.push(next.line);
        offsets[next.stream] = next.end;
      }
      if (!(await this.#store({ lines, offsets }))) return false;
    }
    return true;
  }

  /** Offers a batch until it is taken. False when the capture was stopped meanwhile and it is still refused. */
  async #store(batch: LogBatch): Promise<boolean> {
    let afterStop = 0;
    for (let wait = FIRST_RETRY_MS; ; wait = Math.min(wait * 2, LAST_RETRY_MS)) {
      try {
        await this.#options.store(batch);
        this.#offsets = batch.offsets;
        return true;
      } catch (error) {
        const reason = error instanceof Error ? error.message : "unknown error";
        this.#options.onWarning(`output could not be stored and is offered again: ${reason}`);
        if (this.#stopping) afterStop += 1;
        if (afterStop >= STOP_ATTEMPTS) return false;
        await this.#sleep(this.#stopping ? FIRST_RETRY_MS : wait, !this.#stopping);
      }
    }
  }

  /** Output is appended, so emptying a file that was read to its end only shortens it. */
  async #emptyLargeFiles(): Promise<void> {
    const limit = this.#options.truncateBytes ?? TRUNCATE_BYTES;
    for (const follower of this.#followers) {
      if (this.#offsets[follower.stream] < limit || !(await follower.emptyIfRead())) continue;
      await this.#store({ lines: [], offsets: { ...this.#offsets, [follower.stream]: 0 } });
    }
  }

  #waitForMore(): Promise<void> {
    if (this.#dirty || this.#stopping) return Promise.resolve();
    return this.#sleep(POLL_MS, true);
  }

  #sleep(ms: number, wakeable: boolean): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      if (!wakeable) return;
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #wakeUp(): void {
    this.#dirty = true;
    this.#wake();
  }

  #watch(): FSWatcher | null {
    try {
      mkdirSync(this.#options.directory, { recursive: true });
      const watcher = watch(this.#options.directory, () => this.#wakeUp());
      watcher.on("error", () => watcher.close());
      return watcher;
    } catch {
      // No more watches on this machine: the poll finds everything, a little later.
      return null;
    }
  }
}
