import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { withLock } from "./lock.ts";
import { temporaryFolder } from "./testing/support.ts";

test("lets one holder in at a time and leaves nothing, also after failures", async () => {
  const folder = await temporaryFolder();
  const path = join(folder, "lock");
  let inside = 0;
  let most = 0;
  const results = await Promise.allSettled(
    [1, 2, 3, 4, 5].map((number) =>
      withLock(path, async () => {
        inside += 1;
        most = Math.max(most, inside);
        await sleep(10);
        inside -= 1;
        if (number === 3) throw new Error("failed inside");
      }),
    ),
  );
  expect(most).toBe(1);
  expect(results.filter(({ status }) => status === "rejected")).toHaveLength(1);
  expect(await readdir(folder)).toEqual([]);
});

test("breaks the lock of a dead holder, by number or by start time, and sweeps what dead waiters left", async () => {
  const folder = await temporaryFolder();
  const path = join(folder, "lock");
  await mkdir(path);
  await writeFile(join(path, "4194304.12345.aaaaaaaaaaaa"), "");
  await writeFile(join(path, `${process.pid}.1.bbbbbbbbbbbb`), "");
  await mkdir(`${path}.4194304.12345.cccccccccccc`);
  const entered = await Promise.all([withLock(path, async () => 1), withLock(path, async () => 2)]);
  expect(entered).toEqual([1, 2]);
  expect(await readdir(folder)).toEqual([]);
});
