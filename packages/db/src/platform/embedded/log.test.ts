import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { followLog, putAsideLargeLog, readFrom } from "./log.ts";
import { temporaryFolder } from "./testing/support.ts";

test("hands out whole lines from a position on, the unfinished one at the end", async () => {
  const file = join(await temporaryFolder(), "log");
  await writeFile(file, "old\n");
  const lines: string[] = [];
  const follower = followLog(file, 4, (line) => lines.push(line));
  await appendFile(file, "eins\r\nzw");
  await vi.waitFor(() => expect(lines).toEqual(["eins"]));
  await appendFile(file, "ölf\ndrei");
  await follower.stop();
  expect(lines).toEqual(["eins", "zwölf", "drei"]);
  expect(await readFrom(file, 4)).toBe("eins\nzwölf\ndrei");
});

test("a log that does not exist yet is an empty one", async () => {
  expect(await readFrom(join(await temporaryFolder(), "none"), 0)).toBe("");
});

test("only an overgrown log is put aside", async () => {
  const file = join(await temporaryFolder(), "log");
  await putAsideLargeLog(file, 3);
  await writeFile(file, "abc");
  await putAsideLargeLog(file, 3);
  expect(await readFile(file, "utf8")).toBe("abc");
  await appendFile(file, "d");
  await putAsideLargeLog(file, 3);
  expect(await readFile(`${file}.old`, "utf8")).toBe("abcd");
});
