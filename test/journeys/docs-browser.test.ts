import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isMissing } from "../support/components.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";

const FLAGS =
  "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";

describe.skipIf(isMissing("chromium"))("the documentation in a browser", () => {
  let quayside: TestQuayside;
  let profile: string;

  beforeAll(async () => {
    quayside = await startTestQuayside({}, "api");
    profile = mkdtempSync(join(tmpdir(), "quayside-chromium-"));
  });

  afterAll(async () => {
    await quayside?.stop();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  });

  it("shows every path, under a policy that allows no foreign script", async () => {
    const { stdout } = await promisify(execFile)(
      "chromium",
      [
        ...FLAGS.split(" "),
        `--user-data-dir=${profile}`,
        "--virtual-time-budget=8000",
        "--dump-dom",
        `${quayside.baseUrl}/docs`,
      ],
      { timeout: 50_000, maxBuffer: 32_000_000 },
    );
    const shown = new Set([...stdout.matchAll(/data-path="([^"]+)"/g)].map(([, path]) => path));
    const document = (await quayside.call("GET", "/openapi.json")).body;
    expect(shown).toEqual(new Set(Object.keys(document.paths)));
  }, 60_000);
});
