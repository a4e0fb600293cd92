import { appendFileSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LogBatch, LogOffsets } from "@quayside/contracts";
import { describe, expect, it, onTestFinished } from "vitest";
import { startLogCapture } from "./log-capture.ts";
import { temporaryFolder, until } from "./test-support.ts";

interface CaptureMore {
  directory?: string;
  from?: LogOffsets;
  truncateBytes?: number;
  store?(batch: LogBatch): Promise<void>;
}

function setup(more: CaptureMore = {}) {
  const directory = more.directory ?? join(temporaryFolder(), "log");
  const batches: LogBatch[] = [];
  const warnings: string[] = [];
  const capture = startLogCapture({
    directory,
    from: more.from ?? { stdout: 0, stderr: 0 },
    async store(batch) {
      await more.store?.(batch);
      batches.push(batch);
    },
    onWarning: (message) => void warnings.push(message),
    truncateBytes: more.truncateBytes,
  });
  onTestFinished(() => capture.stop());
  const lines = (stream?: string) =>
    batches.flatMap((batch) =>
      batch.lines.filter((line) => stream === undefined || line.stream === stream).map(({ line }) => line),
    );
  const write = (text: string | Uint8Array, stream = "stdout") => {
    mkdirSync(directory, { recursive: true });
    appendFileSync(join(directory, `${stream}.log`), text);
  };
  return { capture, directory, batches, warnings, lines, write };
}

describe("captureLogs", () => {
  it("waits for the files and hands over complete lines of both streams with the offsets after them", async () => {
    const { lines, write, batches, capture } = setup();
    write("one\ntw");
    write("err\r\n", "stderr");
    await until("both came", () => lines().length === 2);
    write("o\n");
    await until("the rest came", () => lines("stdout").length === 2);
    expect(lines("stdout")).toEqual(["one", "two"]);
    expect(lines("stderr")).toEqual(["err"]);
    expect(batches.at(-1)?.offsets).toEqual({ stdout: 8, stderr: 5 });
    await capture.stop();
  });

  it("hands over a line within a few milliseconds", async () => {
    const { lines, write } = setup();
    write("first\n");
    await until("it runs", () => lines().length === 1);
    const delays: number[] = [];
    for (let count = 2; count <= 12; count += 1) {
      // Lets the capture come to rest, or it would find the line without being woken.
      await new Promise((resolve) => setTimeout(resolve, 30));
      const wrote = performance.now();
      write(`line ${count}\n`);
      await new Promise<void>((resolve) => {
        const look = () => (lines().length >= count ? resolve() : setImmediate(look));
        look();
      });
      delays.push(performance.now() - wrote);
    }
    delays.sort((a, b) => a - b);
    // The median: a single pause of a busy machine says nothing. Polling alone would take 125 ms.
    expect(delays[5]).toBeLessThan(50);
  });

  it("keeps a character whole that is written in two parts, and flushes a partial line after a quiet second", async () => {
    const { lines, write } = setup();
    write(Buffer.from("😀").subarray(0, 2));
    write(Buffer.from("😀\n").subarray(2));
    write("prompt> ");
    await until("the prompt came", () => lines().length === 2);
    expect(lines()).toEqual(["😀", "prompt> "]);
    write("\nnext\n");
    await until("the next came", () => lines().length === 3);
    expect(lines()[2]).toBe("next");
  });

  it("hands over what is left, a partial line included, when stopped", async () => {
    const { lines, write, capture } = setup();
    write("a\n".repeat(2_000));
    write("end without line end");
    await capture.stop();
    expect(lines()).toHaveLength(2_001);
    expect(lines().at(-1)).toBe("end without line end");
  });

  it("resumes from any stored offsets without losing or doubling a line", async () => {
    const first = setup();
    const all = Array.from({ length: 1_500 }, (_, index) => `line ${index}`);
    first.write(`${all.join("\n")}\n`);
    await first.capture.stop();
    expect(first.lines()).toEqual(all);
    expect(first.batches.length).toBeGreaterThan(2);
    for (const [index, batch] of first.batches.entries()) {
      const before = first.batches.slice(0, index + 1).reduce((sum, { lines }) => sum + lines.length, 0);
      const again = setup({ directory: first.directory, from: batch.offsets });
      await again.capture.stop();
      expect(again.lines()).toEqual(all.slice(before));
    }
  });

  it("keeps batches within 500 lines and 256 KiB", async () => {
    const { batches, write, capture } = setup();
    write(`${"x".repeat(16_000)}\n`.repeat(60));
    write("short\n".repeat(1_200));
    await capture.stop();
    expect(batches.flatMap(({ lines }) => lines)).toHaveLength(1_260);
    for (const { lines } of batches) {
      expect(lines.length).toBeLessThanOrEqual(500);
      expect(lines.reduce((sum, { line }) => sum + line.length, 0)).toBeLessThanOrEqual(256 * 1024);
    }
  });

  it("offers a refused batch again, in order and once", async () => {
    let refusals = 3;
    const { lines, write, warnings } = setup({
      async store() {
        if (refusals > 0) {
          refusals -= 1;
          throw new Error("database away");
        }
      },
    });
    write("one\ntwo\n");
    await until("it came", () => lines().length === 2);
    write("three\n");
    await until("the next came", () => lines().length === 3);
    expect(lines()).toEqual(["one", "two", "three"]);
    expect(warnings).toHaveLength(3);
    expect(warnings[0]).toContain("database away");
  });

  it("stops within a bound although nothing can be stored", async () => {
    const { write, capture, batches } = setup({ store: () => Promise.reject(new Error("database away")) });
    write("one\n");
    await capture.stop();
    expect(batches).toEqual([]);
  });

  it("reads nothing more while a batch is being stored", async () => {
    const gate = Promise.withResolvers<void>();
    let running = 0;
    let most = 0;
    const { lines, write } = setup({
      async store() {
        running += 1;
        most = Math.max(most, running);
        await gate.promise;
        running -= 1;
      },
    });
    write("one\n");
    await until("it is being stored", () => running === 1);
    write("two\n");
    gate.resolve();
    await until("both came", () => lines().length === 2);
    expect(most).toBe(1);
  });

  it("empties a large file once it is stored, and reads on", async () => {
    const { lines, write, directory, batches } = setup({ truncateBytes: 10_000 });
    write("y\n".repeat(6_000));
    await until("it was emptied", () => batches.at(-1)?.offsets.stdout === 0);
    expect(statSync(join(directory, "stdout.log")).size).toBe(0);
    write("after\n");
    await until("the next came", () => lines().at(-1) === "after");
    expect(lines()).toHaveLength(6_001);
  });

  it("begins again with a file that is shorter than its offset", async () => {
    const directory = join(temporaryFolder(), "log");
    mkdirSync(directory);
    writeFileSync(join(directory, "stdout.log"), "new\n");
    const { lines, capture } = setup({ directory, from: { stdout: 1_000, stderr: 0 } });
    await capture.stop();
    expect(lines()).toEqual(["new"]);
  });
});
