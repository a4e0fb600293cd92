import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createInstallation, type Installation } from "../support/quayside-process.ts";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
const run = promisify(execFile);

describe("what the README shows", () => {
  let installation: Installation;
  let env: Record<string, string>;

  beforeAll(async () => {
    // As a newcomer has it: the admin is the generated one.
    const generated = { BOOTSTRAP_ADMIN_USER: "", BOOTSTRAP_ADMIN_PASSWORD: "", BOOTSTRAP_GRANT_SUPER_ADMIN: "" };
    installation = await createInstallation(generated);
    await installation.start();
    env = {
      PATH: process.env["PATH"] ?? "",
      HOME: installation.dataDir,
      TMPDIR: installation.dataDir,
      BASE_URL: installation.baseUrl,
      DATA_DIR: installation.dataDir,
    };
  });

  afterAll(() => installation?.remove());

  it("the quick start works as it is printed", async () => {
    const readme = readFileSync(join(ROOT, "README.md"), "utf8");
    const [, script] = /<!-- quick start -->\s*```bash\n([\s\S]*?)```/.exec(readme) ?? [];
    expect(script).toBeDefined();
    const { stdout } = await run("bash", ["-c", script ?? ""], { cwd: ROOT, env, timeout: 60_000 });
    expect(stdout).toContain('"status":"deployed"');
    expect(stdout).toContain("Hello from Quayside");
  }, 70_000);

  it("the demo deploys two commits and shows the app, its log and the time of each step", async () => {
    const { stdout } = await run("node", ["scripts/demo.ts"], { cwd: ROOT, env, timeout: 60_000 });
    expect(stdout).toContain("Hello from Quayside, first edition");
    expect(stdout).toContain("Hello from Quayside, second edition");
    expect(stdout).toContain("web | Hello from Quayside, first edition: listening");
    expect(stdout).toMatch(/\d+ ms {2}Deploy the second commit/);
    // Colours are for terminals.
    expect(stdout).not.toContain("\u001b[");
  }, 70_000);
});
