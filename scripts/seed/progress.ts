import { styleText } from "node:util";

const BAR_WIDTH = 30;
const REDRAW_MS = 100;
/** Without a terminal: one line for each tenth. */
const PLAIN_STEP = 0.1;

/** Says how far the work is: as a bar on a terminal, as plain lines elsewhere. */
export class Progress {
  readonly #total: number;
  readonly #startedAt = performance.now();
  readonly #terminal = process.stdout.isTTY === true;
  readonly #coloured = this.#terminal && process.env.NO_COLOR === undefined;
  #done = 0;
  #drawnAt = 0;
  #said = 0;

  constructor(total: number) {
    this.#total = total;
  }

  get seconds(): number {
    return (performance.now() - this.#startedAt) / 1_000;
  }

  add(count: number): void {
    this.#done += count;
    if (this.#terminal) this.#draw();
    else this.#say();
  }

  /** Ends the bar's line. */
  end(): void {
    if (this.#terminal) process.stdout.write("\n");
  }

  #draw(): void {
    const now = performance.now();
    if (now - this.#drawnAt < REDRAW_MS && this.#done < this.#total) return;
    this.#drawnAt = now;
    const share = this.#done / this.#total;
    const full = Math.round(share * BAR_WIDTH);
    const bar = `${"█".repeat(full)}${"░".repeat(BAR_WIDTH - full)}`;
    process.stdout.write(`\r${this.#coloured ? styleText("cyan", bar) : bar} ${this.#text()}\u001b[K`);
  }

  #say(): void {
    const step = Math.floor(this.#done / this.#total / PLAIN_STEP);
    if (step === this.#said) return;
    this.#said = step;
    process.stdout.write(`${this.#text()}\n`);
  }

  #text(): string {
    const percent = Math.floor((this.#done / this.#total) * 100);
    const rate = Math.round(this.#done / this.seconds);
    return `${String(percent).padStart(3)} %  ${count(this.#done)} of ${count(this.#total)} people, ${count(rate)} a second`;
  }
}

/** 50000 as 50,000. */
export function count(number: number): string {
  return number.toLocaleString("en");
}
