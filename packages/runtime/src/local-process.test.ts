import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { groupHasLiving } from "./process-table.ts";
import { ECHO_APP, recordingStep, startFiles, stopAtEnd, testRuntime, until } from "./test-support.ts";

const never = new AbortController().signal;

function output(made: ReturnType<typeof testRuntime>, releaseId: string, stream = "stdout"): string {
  const path = join(dirname(made.runtime.releaseDirectory(releaseId)), "log", `${stream}.log`);
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

describe("startRelease", () => {
  it("runs the app on its own port with its own environment", async () => {
    process.env.QUAYSIDE_TEST_SECRET = "hunter2";
    const made = testRuntime();
    const app = await startFiles(made, { "server.js": ECHO_APP }, "node server.js", { env: { MINE: "1", PORT: "1" } });
    delete process.env.QUAYSIDE_TEST_SECRET;
    await until("it listens", () => output(made, app.releaseId).includes("listening"));
    const { env, cwd } = await (await fetch(`http://127.0.0.1:${app.port}/`)).json();
    expect(env).toMatchObject({ MINE: "1", PORT: String(app.port), HOST: "127.0.0.1", NODE_ENV: "production" });
    expect(env).toMatchObject({ QUAYSIDE_RELEASE: app.releaseId });
    expect(env).not.toHaveProperty("QUAYSIDE_TEST_SECRET");
    expect(cwd).toBe(made.runtime.releaseDirectory(app.releaseId));
    expect(await made.runtime.processState(app.releaseId, app)).toEqual({ running: true });
  });

  it.each([
    ["exit 3", { exitCode: 3, signal: null }],
    ["true", { exitCode: 0, signal: null }],
    ["kill -9 $(sh -c 'echo $PPID')", { exitCode: null, signal: "SIGKILL" }],
    ["exec node -e 'process.exit(7)'", { exitCode: 7, signal: null }],
    ["node -e 'process.abort()'", { exitCode: null, signal: "SIGABRT" }],
    ["no-such-program", { exitCode: 127, signal: null }],
  ])("keeps the exit code of `%s`", async (command, end) => {
    const made = testRuntime();
    const app = await startFiles(made, {}, command);
    expect(await made.runtime.waitForExit(app.releaseId, app, never)).toEqual({ running: false, ...end });
    expect(groupHasLiving(app.pid)).toBe(false);
  });

  it("appends to the output and forgets the old exit code on a second start", async () => {
    const made = testRuntime();
    const first = await startFiles(made, {}, "echo one; exit 4", { releaseId: "again" });
    await made.runtime.waitForExit("again", first, never);
    const second = await startFiles(made, {}, "echo two; sleep 600", { releaseId: "again" });
    expect(await made.runtime.processState("again", second)).toEqual({ running: true });
    expect(existsSync(join(made.dataDir, "releases", "again", "exit"))).toBe(false);
    await until("both wrote", () => output(made, "again") === "one\ntwo\n");
  });

  it("ends what the app leaves behind when it exits", async () => {
    const made = testRuntime();
    const app = await startFiles(made, {}, "sleep 600 & sleep 600 & exit 5");
    expect(await made.runtime.waitForExit(app.releaseId, app, never)).toMatchObject({ exitCode: 5 });
    await until("the group is empty", () => !groupHasLiving(app.pid));
  });

  it("refuses to start once aborted, leaving nothing", async () => {
    const { runtime } = testRuntime();
    const step = recordingStep();
    step.abort.abort(new Error("cancelled"));
    const request = { directory: "/nowhere", settings: {}, env: {}, sandboxed: false, releaseId: "x", command: "true" };
    await expect(runtime.startRelease(request, step)).rejects.toThrow("cancelled");
    await expect(runtime.startRelease(request, recordingStep())).rejects.toMatchObject({ step: "start" });
  });
});

describe("stopRelease", () => {
  it("lets the app end by itself and keeps its code", async () => {
    const made = testRuntime();
    const command = "node server.js && echo done; echo never";
    const app = await startFiles(made, { "server.js": ECHO_APP }, command);
    await until("it listens", () => output(made, app.releaseId).includes("listening"));
    await made.runtime.stopRelease(app, 10_000);
    expect(await made.runtime.processState(app.releaseId, app)).toEqual({ running: false, exitCode: 0, signal: null });
    expect(output(made, app.releaseId)).toBe("listening\nending\n");
    expect(groupHasLiving(app.pid)).toBe(false);
  });

  it("kills a group that ignores the request, children included", async () => {
    const made = testRuntime();
    const app = await startFiles(
      made,
      {},
      "trap '' TERM; sh -c 'sleep 600; sleep 600' & echo up; while :; do sleep 600; done",
    );
    await until("it is up", () => output(made, app.releaseId).includes("up"));
    await made.runtime.stopRelease(app, 150);
    expect(groupHasLiving(app.pid)).toBe(false);
    expect(await made.runtime.processState(app.releaseId, app)).toMatchObject({ running: false });
  });

  it("never touches a process that is not the one it knows", async () => {
    const made = testRuntime();
    const app = await startFiles(made, {}, "sleep 600");
    const other = {
      pid: app.pid,
      startToken: app.startToken.replace(/\d$/, (digit) => String((Number(digit) + 1) % 10)),
    };
    expect(await made.runtime.processState(app.releaseId, other)).toMatchObject({ running: false });
    await made.runtime.stopRelease(other, 0);
    expect(await made.runtime.processState(app.releaseId, app)).toEqual({ running: true });
    await made.runtime.stopRelease({ pid: process.pid, startToken: "x" }, 0);
    await made.runtime.stopRelease({ pid: 2 ** 22 + 1, startToken: "x" }, 0);
  });

  it("stops waiting when told to", async () => {
    const made = testRuntime();
    const app = await startFiles(made, {}, "sleep 600");
    const abort = new AbortController();
    const waiting = made.runtime.waitForExit(app.releaseId, app, abort.signal);
    abort.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
  });
});

describe("after a restart of Quayside", () => {
  /** Starts a release in another process and kills that process. */
  async function startElsewhere(made: ReturnType<typeof testRuntime>, command: string) {
    const script = join(made.dataDir, "starter.ts");
    const modules = new URL("./local-runtime.ts", import.meta.url).href;
    writeFileSync(
      script,
      `import { mkdirSync } from "node:fs";
       import { createLocalRuntime } from ${JSON.stringify(modules)};
       const options = { dataDir: ${JSON.stringify(made.dataDir)}, proxyHost: "127.0.0.1", proxyPort: 0, gitLocalRoots: null };
       const runtime = createLocalRuntime({ ...options, allowPrivateNetworks: true, onWarning() {} });
       const directory = runtime.releaseDirectory("kept");
       mkdirSync(directory, { recursive: true });
       const request = { directory, settings: {}, env: {}, sandboxed: false, releaseId: "kept", command: process.argv[2] };
       const step = { signal: new AbortController().signal, log() {} };
       console.log(JSON.stringify(await runtime.startRelease(request, step)));
       setInterval(() => {}, 1000);`,
    );
    const parent = spawn(process.execPath, [script, command], { stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    parent.stdout.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
    await until("the release is started", () => said.includes("\n"));
    const ended = new Promise((resolve) => parent.once("exit", resolve));
    parent.kill("SIGKILL");
    await ended;
    const running = JSON.parse(said);
    stopAtEnd(made.runtime, running);
    return running;
  }

  it("finds the process running, its output still written, and stops it gracefully", async () => {
    const made = testRuntime();
    const app = await startElsewhere(made, `node -e ${quote(ECHO_APP)}`);
    await until("it listens", () => output(made, "kept").includes("listening"));
    expect(await made.runtime.processState("kept", app)).toEqual({ running: true });
    await made.runtime.stopRelease(app, 10_000);
    expect(await made.runtime.processState("kept", app)).toEqual({ running: false, exitCode: 0, signal: null });
    expect(output(made, "kept")).toContain("ending");
  });

  it("learns the exit code of a process that is not its child", async () => {
    const made = testRuntime();
    const app = await startElsewhere(made, 'while [ ! -e "$PWD/go" ]; do sleep 0.02; done; exit 42');
    const waiting = made.runtime.waitForExit("kept", app, never);
    writeFileSync(join(made.runtime.releaseDirectory("kept"), "go"), "");
    expect(await waiting).toEqual({ running: false, exitCode: 42, signal: null });
  });
});

describe("stopStrays", () => {
  it("ends every process of the release, even one that left its group, and no other", async () => {
    const made = testRuntime();
    const elsewhere = testRuntime();
    const stray = await startFiles(made, {}, 'setsid sh -c "echo $$; sleep 600" & sleep 600', { releaseId: "same" });
    const other = await startFiles(made, {}, "sleep 600", { releaseId: "other" });
    const namesake = await startFiles(elsewhere, {}, "sleep 600", { releaseId: "same" });
    const escaped = await until("it escaped", () => Number(output(made, "same")));
    expect(groupHasLiving(escaped) || escaped !== stray.pid).toBe(true);
    await made.runtime.stopStrays("same");
    expect(await made.runtime.processState("same", stray)).toMatchObject({ running: false });
    expect(groupHasLiving(stray.pid)).toBe(false);
    expect(await made.runtime.processState("other", other)).toEqual({ running: true });
    expect(await elsewhere.runtime.processState("same", namesake)).toEqual({ running: true });
  });
});

function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
