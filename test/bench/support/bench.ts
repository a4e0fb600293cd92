import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stopAllChildren } from "./children.ts";
import type { Figure } from "./figures.ts";
import { type Installation, startInstallation } from "./installation.ts";

export interface Benchmark {
  name: string;
  /** Ended as hanging after this long; 120,000 when unset. */
  limitMs?: number;
  measure(bench: Bench): Promise<Figure[]>;
}

/** What benchmarks share: a folder that is gone afterwards, and one installation for all that load it. */
export class Bench {
  readonly #folder: string;
  #folders = 0;
  #shared: Promise<Installation> | null = null;

  constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), "quayside-bench-"));
    chmodSync(this.#folder, 0o711);
  }

  /** A new, empty folder. */
  folder(name: string): string {
    this.#folders += 1;
    const path = join(this.#folder, `${this.#folders}-${name}`);
    mkdirSync(path);
    return path;
  }

  shared(): Promise<Installation> {
    this.#shared ??= startInstallation(this.folder("data"));
    return this.#shared;
  }

  async close(): Promise<void> {
    await stopAllChildren();
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}
