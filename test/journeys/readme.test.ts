import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createInstallation, type Installation } from "../support/quayside-process.ts";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
const run = promisify(execFile);

/** The code block behind the comment of that name. */
function blockOf(readme: string, name: string): string {
  const [, script] = new RegExp(`<!-- ${name} -->\\s*\`\`\`bash\\n([\\s\\S]*?)\`\`\``).exec(readme) ?? [];
  if (script === undefined) throw new Error(`The README has no block '${name}'.`);
  return script;
}

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
    const [deploying, people] = ["quick start", "people"].map((name) => blockOf(readme, name));
    const { stdout } = await run("bash", ["-c", `${deploying}\n${people}`], { cwd: ROOT, env, timeout: 60_000 });
    expect(stdout).toContain('"status":"deployed"');
    expect(stdout).toContain("Hello from Quayside");
    expect(stdout).toContain('"succeeded":2,"failed":0');
    expect(stdout).toMatch(/"data":\[\{"id":"7b0e0f3a-[-0-9a-f]+","name":"Ada Lovelace","score":60\}\]/);
    expect(stdout).toContain('"title":"Tagged pioneer"');
    expect(stdout).toContain('"domain":"analytical.example"');
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
