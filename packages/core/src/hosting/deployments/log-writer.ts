import type { LogLine } from "@quayside/contracts";
import { type Database, withTransaction } from "@quayside/db";
import type { Log } from "../../platform/context.ts";
import { storeLogLines } from "./store-log-lines.ts";

const BATCH_LINES = 500;
const MAX_WAITING_LINES = 20_000;

/**
 * Writes the lines of a running build in the background, in order. When lines come faster than they can be stored the
 * surplus is dropped and counted, so that a mad build takes neither memory nor the database down.
 */
export class LogWriter {
  readonly #db: Database;
  readonly #log: Log;
  readonly #deploymentId: string;
  readonly #component: string;
  #waiting: LogLine[] = [];
  #dropped = 0;
  #writing: Promise<void> | null = null;

  constructor(services: { db: Database; log: Log }, deploymentId: string, component: string) {
    this.#db = services.db;
    this.#log = services.log;
    this.#deploymentId = deploymentId;
    this.#component = component;
  }

  append(line: LogLine): void {
    if (this.#waiting.length >= MAX_WAITING_LINES) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(line);
    this.#writing ??= this.#writeAll();
  }

  /** Resolves when everything appended so far is stored. */
  async flush(): Promise<void> {
    while (this.#writing) await this.#writing;
  }

  async #writeAll(): Promise<void> {
    // Lines that come together are stored together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH_LINES);
      if (this.#dropped > 0 && this.#waiting.length === 0) {
        batch.push({
          at: new Date(),
          stream: "system",
          line: `${this.#dropped} lines came too fast and were dropped.`,
        });
        this.#dropped = 0;
      }
      try {
        await withTransaction(this.#db, (tx) => storeLogLines(tx, this.#deploymentId, this.#component, batch));
      } catch (error) {
        this.#log.error({ err: error, deploymentId: this.#deploymentId }, "build log lines could not be stored");
      }
    }
    this.#writing = null;
  }
}
