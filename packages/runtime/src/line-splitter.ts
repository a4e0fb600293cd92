import { MAX_LOG_LINE_BYTES } from "@quayside/contracts";

const LF = 10;
const CR = 13;
const CUT_MARK = "…";
// One byte tells that a line is too long, one more may be the CR of its line end.
const HELD_BYTES = MAX_LOG_LINE_BYTES + 2;

export interface SplitLine {
  text: string;
  /** Bytes of the stream up to and with this line's end. */
  end: number;
}

/**
 * Cuts a byte stream into lines, the same ones however the stream is chunked. A line ends with LF or CRLF. NUL bytes and
 * invalid UTF-8 become U+FFFD. What exceeds MAX_LOG_LINE_BYTES is dropped and marked with `…`.
 */
export class LineSplitter {
  readonly #held = Buffer.alloc(HELD_BYTES);
  #length = 0;
  #position: number;
  /** The line was handed out already because it is too long; the rest of it is dropped. */
  #skipping = false;
  /** Part of the line was handed out already because the stream fell quiet. */
  #flushed = false;

  constructor(position = 0) {
    this.#position = position;
  }

  /** Bytes after which nothing is held back: reading again from here loses nothing. */
  get consumed(): number {
    return this.#skipping ? this.#position : this.#position - this.#length;
  }

  /** Bytes taken in so far. */
  get position(): number {
    return this.#position;
  }

  push(chunk: Uint8Array): SplitLine[] {
    const lines: SplitLine[] = [];
    let from = 0;
    while (from < chunk.length) {
      const lf = chunk.indexOf(LF, from);
      this.#take(chunk.subarray(from, lf === -1 ? chunk.length : lf), lines);
      if (lf === -1) break;
      this.#position += 1;
      this.#endLine(lines);
      from = lf + 1;
    }
    return lines;
  }

  /** Hands out a partial line. Unless `final`, a character that is still incomplete waits for its other bytes. */
  flush(final: boolean): SplitLine[] {
    if (this.#skipping || this.#length === 0) return [];
    const keep = final ? 0 : incompleteTail(this.#held.subarray(0, this.#length));
    const ready = this.#length - keep;
    if (ready === 0) return [];
    const line = { text: lineText(this.#held.subarray(0, ready)), end: this.#position - keep };
    this.#held.copyWithin(0, ready, this.#length);
    this.#length = keep;
    this.#flushed = true;
    return [line];
  }

  #take(bytes: Uint8Array, lines: SplitLine[]): void {
    this.#position += bytes.length;
    if (this.#skipping) return;
    const kept = bytes.subarray(0, HELD_BYTES - this.#length);
    this.#held.set(kept, this.#length);
    this.#length += kept.length;
    if (this.#length < HELD_BYTES) return;
    lines.push({ text: lineText(this.#held), end: this.#position });
    this.#skipping = true;
    this.#length = 0;
  }

  #endLine(lines: SplitLine[]): void {
    if (!this.#skipping) {
      const last = this.#length > 0 && this.#held[this.#length - 1] === CR ? this.#length - 1 : this.#length;
      // The line end of a line that was flushed while quiet is not an empty line of its own.
      if (last > 0 || !this.#flushed) {
        lines.push({ text: lineText(this.#held.subarray(0, last)), end: this.#position });
      }
    }
    this.#length = 0;
    this.#skipping = false;
    this.#flushed = false;
  }
}

/** Decodes a line for storage: no NUL (PostgreSQL refuses it), valid UTF-8, at most MAX_LOG_LINE_BYTES. */
function lineText(bytes: Buffer): string {
  const text = bytes.toString("utf8").replaceAll("\u0000", "\ufffd");
  const encoded = Buffer.from(text);
  if (encoded.length <= MAX_LOG_LINE_BYTES) return text;
  let cut = MAX_LOG_LINE_BYTES - Buffer.byteLength(CUT_MARK);
  while (cut > 0 && ((encoded[cut] ?? 0) & 0xc0) === 0x80) cut -= 1;
  return encoded.toString("utf8", 0, cut) + CUT_MARK;
}

/** Bytes at the end that may be the beginning of a character (or the CR of a CRLF). */
function incompleteTail(bytes: Buffer): number {
  if (bytes[bytes.length - 1] === CR) return 1;
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const needed =
      byte >= 0xf0 && byte <= 0xf4 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc2 && byte < 0xe0 ? 2 : 1;
    return needed > back ? back : 0;
  }
  return 0;
}
