import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { type BuildSettings, StepFailure } from "@quayside/contracts";
import { describe, expect, it } from "vitest";
import { readStartToken } from "./process-table.ts";
import { recordingStep, type TestRuntime, temporaryFolder, testRuntime, until, writeFiles } from "./test-support.ts";

interface Attempt {
  settings?: BuildSettings;
  env?: Record<string, string>;
  made?: TestRuntime;
}

function setup(files: Readonly<Record<string, string>>, attempt: Attempt = {}) {
  const made = attempt.made ?? testRuntime();
  const directory = made.runtime.releaseDirectory("rel1");
  mkdirSync(directory, { recursive: true });
  writeFiles(directory, files);
  const step = recordingStep();
  const request = { directory, settings: attempt.settings ?? {}, env: attempt.env ?? {}, sandboxed: false };
  return { ...made, directory, step, build: () => made.runtime.buildRelease(request, step) };
}

async function buildFailure(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => new Error("it was built"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof StepFailure)) throw error;
  expect(error.step).toBe("build");
  return error.message;
}

const manifest = (content: object) => ({ "package.json": JSON.stringify(content) });
/** A dependency inside the repository: installing it needs no network. */
const LOCAL_DEPENDENCY = {
  "lib/package.json": JSON.stringify({ name: "lib", version: "1.0.0", bin: { "lib-tool": "tool.js" } }),
  "lib/tool.js": "#!/usr/bin/env node\nconsole.log('tool ran');\n",
};

describe("the start command", () => {
  it.each([
    ["the settings", manifest({ scripts: { start: "node a" } }), { start: "node b" }, "node b"],
    ["the start script", manifest({ main: "m.js", scripts: { start: "node a" } }), {}, "node a"],
    ["main", { ...manifest({ main: "./m.js" }), "m.js": "", "server.js": "" }, {}, "node './m.js'"],
    ["main without its extension", { ...manifest({ main: "m" }), "m.js": "" }, {}, "node 'm.js'"],
    ["server.js", { "server.js": "", "index.js": "" }, {}, "node 'server.js'"],
    ["index.js", { "index.js": "" }, {}, "node 'index.js'"],
    [
      "main of another root",
      { "app/it's.js": "", "app/package.json": '{"main":"it\'s.js"}' },
      { root: "app" },
      "node 'it'\\''s.js'",
    ],
  ])("comes from %s", async (_from, files, settings, command) => {
    const { build, step } = setup(files, { settings });
    expect(await build()).toEqual({ command });
    expect(step.lines).toEqual([]);
  });

  it("is asked for when nothing says it", async () => {
    expect(await buildFailure(setup({ "readme.md": "" }).build())).toContain("set a start command");
    expect(await buildFailure(setup({ "package.json": "{" }).build())).toContain("package.json is not valid JSON");
  });
});

describe("root", () => {
  it("must stay inside the release, links included", async () => {
    for (const root of ["..", "a/../..", "/etc", "missing", "package.json"]) {
      const { build } = setup({ ...manifest({}), "index.js": "" }, { settings: { root } });
      expect(await buildFailure(build()), root).toContain("root");
    }
    const linked = setup({ "index.js": "" }, { settings: { root: "out" } });
    symlinkSync(temporaryFolder(), join(linked.directory, "out"));
    expect(await buildFailure(linked.build())).toContain("leads out of the repository");
  });

  it("does not let a linked package.json show another file", async () => {
    const { build, directory, dataDir } = setup({ "index.js": "" });
    writeFiles(dataDir, { "secrets.json": JSON.stringify({ scripts: { start: "echo secret" } }) });
    symlinkSync(join(dataDir, "secrets.json"), join(directory, "package.json"));
    expect(await build()).toEqual({ command: "node 'index.js'" });
  });
});

describe("installing and building", () => {
  it("installs with a lock file by npm ci and builds with devDependencies, whatever NODE_ENV says", async () => {
    const files = {
      ...LOCAL_DEPENDENCY,
      ...manifest({
        name: "app",
        version: "1.0.0",
        scripts: { build: "lib-tool > built.txt", start: "node server.js" },
        devDependencies: { lib: "file:lib" },
      }),
      "package-lock.json": JSON.stringify({
        name: "app",
        version: "1.0.0",
        lockfileVersion: 3,
        packages: {
          "": { name: "app", version: "1.0.0", devDependencies: { lib: "file:lib" } },
          lib: { version: "1.0.0", dev: true, bin: { "lib-tool": "tool.js" } },
          "node_modules/lib": { resolved: "lib", link: true },
        },
      }),
    };
    const { build, directory, step } = setup(files, { env: { NODE_ENV: "production" } });
    expect(await build()).toEqual({ command: "node server.js" });
    expect(readFileSync(join(directory, "built.txt"), "utf8")).toBe("tool ran\n");
    expect(step.text("system")).toBe("$ npm ci\n$ npm run build");
  });

  it("installs without a lock file by npm install", async () => {
    const files = {
      ...LOCAL_DEPENDENCY,
      ...manifest({ dependencies: { lib: "file:lib" }, scripts: { start: "lib-tool" } }),
    };
    const { build, directory, step } = setup(files);
    await build();
    expect(step.text("system")).toBe("$ npm install");
    expect(existsSync(join(directory, "node_modules", ".bin", "lib-tool"))).toBe(true);
  });

  it("gives the build its own environment and nothing of Quayside's", async () => {
    process.env.QUAYSIDE_TEST_SECRET = "hunter2";
    const made = testRuntime();
    const build = 'env; echo "to stderr" >&2; node -p process.version';
    const { step, ...rest } = setup({ "index.js": "" }, { made, settings: { build }, env: { MINE: "a b" } });
    await rest.build();
    delete process.env.QUAYSIDE_TEST_SECRET;
    expect(step.text()).not.toContain("hunter2");
    expect(step.text("stdout")).toContain("MINE=a b");
    expect(step.text("stdout")).toContain(`HOME=${made.dataDir}/`);
    expect(step.text("stdout")).toContain(`PATH=${dirname(process.execPath)}:`);
    expect(step.text("stdout")).toContain(process.version);
    expect(step.text("stderr")).toBe("to stderr");
  });

  it("shares one home among the releases of a project", async () => {
    const made = testRuntime();
    const homes: string[] = [];
    for (const projectId of ["p1", "p1", "p2"]) {
      const { build, directory, step } = setup({ "index.js": "" }, { made, settings: { build: 'echo "$HOME"' } });
      writeFiles(dirname(directory), { project: projectId });
      await build();
      homes.push(step.text("stdout"));
    }
    expect(homes[0]).toBe(homes[1]);
    expect(homes[2]).not.toBe(homes[0]);
  });

  it("says which command failed and how", async () => {
    const { build } = setup({ "index.js": "" }, { settings: { build: "exit 3" } });
    expect(await buildFailure(build())).toContain("`exit 3` ended with code 3");
    const bad = setup({ "index.js": "" }, { settings: { build: "true" }, env: { "A=B": "x" } });
    expect(await buildFailure(bad.build())).toContain("cannot be set");
  });
});

describe("ending a build", () => {
  const build = "sleep 600 & echo child $!; wait";

  async function childOf(step: ReturnType<typeof recordingStep>): Promise<number> {
    const [, pid] = await until("the child is named", () => /child (\d+)/.exec(step.text("stdout")));
    return Number(pid);
  }

  it("kills the whole group when aborted, and rejects with the reason", async () => {
    const { step, ...rest } = setup({ "index.js": "" }, { settings: { build } });
    const building = rest.build();
    const child = await childOf(step);
    step.abort.abort(new Error("cancelled by its owner"));
    await expect(building).rejects.toThrow("cancelled by its owner");
    await until("the child is gone", () => isGone(child));
  });

  it("kills the whole group when its time is up", async () => {
    const made = testRuntime({ buildTimeoutMs: 400 });
    const { step, ...rest } = setup({ "index.js": "" }, { made, settings: { build } });
    expect(await buildFailure(rest.build())).toContain("did not end within 0.4 s");
    const child = await childOf(step);
    await until("the child is gone", () => isGone(child));
  });

  it("does not wait for what a command leaves in the background", async () => {
    const { step, ...rest } = setup({ "index.js": "" }, { settings: { build: "sleep 600 & echo child $!" } });
    await rest.build();
    const child = await childOf(step);
    await until("the child is gone", () => isGone(child));
  });
});

/** Gone, or a zombie nobody has reaped yet. */
function isGone(pid: number): boolean {
  return readStartToken(pid) === null || /\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
}
