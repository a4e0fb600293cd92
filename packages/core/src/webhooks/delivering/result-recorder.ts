import type { Context } from "../../platform/context.ts";
import { type AttemptResult, recordAttempts } from "./record-attempts.ts";

/** Results that come in this time are stored together. */
const GATHER_MS = 20;
const MAX_BATCH = 500;
/** While the database is away results are kept this long; after that their deliveries are sent again. */
const TRIES = 60;
const TRIES_AT_THE_END = 3;
const BETWEEN_TRIES_MS = 1_000;

export interface RecorderOptions {
  /** Called with each batch that was stored. */
  onStored: (results: readonly AttemptResult[]) => Promise<void>;
  /** True when the process has no time for further tries. */
  isEnding: () => boolean;
}

/** Gathers how attempts at one endpoint ended, and stores them in the order in which they came. */
export class ResultRecorder {
  readonly #ctx: Context;
  readonly #endpointId: string;
  readonly #options: RecorderOptions;
  #results: AttemptResult[] = [];
  #running: Promise<void> | null = null;

  constructor(ctx: Context, endpointId: string, options: RecorderOptions) {
    this.#ctx = ctx;
    this.#endpointId = endpointId;
    this.#options = options;
  }

  add(result: AttemptResult): void {
    this.#results.push(result);
    this.#running ??= this.#run();
  }

  get isIdle(): boolean {
    return this.#running === null;
  }

  /** Resolves when all that came is stored, or given up. Never rejects. */
  async settled(): Promise<void> {
    while (this.#running) await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#results.length > 0) {
      await pause(GATHER_MS);
      const batch = this.#results.slice(0, MAX_BATCH);
      this.#results = this.#results.slice(MAX_BATCH);
      await this.#store(batch);
    }
    this.#running = null;
  }

  async #store(batch: readonly AttemptResult[]): Promise<void> {
    const { log } = this.#ctx;
    const fields = { endpointId: this.#endpointId, attempts: batch.length };
    for (let tried = 1; ; tried++) {
      try {
        await recordAttempts(this.#ctx, this.#endpointId, batch);
        break;
      } catch (error) {
        if (tried >= (this.#options.isEnding() ? TRIES_AT_THE_END : TRIES)) {
          log.error({ ...fields, err: error }, "results of webhooks could not be stored; they are sent again");
          return;
        }
        log.warn({ ...fields, err: error }, "results of webhooks could not be stored; it is tried again");
      }
      await pause(BETWEEN_TRIES_MS);
    }
    try {
      await this.#options.onStored(batch);
    } catch (error) {
      log.error({ ...fields, err: error }, "what follows the results of webhooks broke off");
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
