import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { DataLayout } from "./data-layout.ts";
import { groupHasLiving } from "./process-table.ts";
import { Sandbox } from "./sandbox.ts";
import {
  ECHO_APP,
  recordingStep,
  startFiles,
  temporaryFolder,
  testRuntime,
  until,
  writeFiles,
} from "./test-support.ts";

const probeFolder = mkdtempSync(join(tmpdir(), "quayside-runtime-probe-"));
const works = await new Sandbox(new DataLayout(probeFolder)).canSandbox();
rmSync(probeFolder, { recursive: true, force: true });
const required = process.env.REQUIRE_ALL === "1";

describe.skipIf(!works && !required)("the private root (skipped when bwrap is missing)", () => {
  function output(made: ReturnType<typeof testRuntime>, releaseId: string, stream = "stdout"): string {
    const path = join(dirname(made.runtime.releaseDirectory(releaseId)), "log", `${stream}.log`);
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  }

  it("works on this machine", async () => {
    expect(await testRuntime().runtime.canSandbox()).toBe(true);
  });

  it("shows an app its own files and neither Quayside's nor another release's", async () => {
    const made = testRuntime();
    writeFiles(made.dataDir, { "secrets.env": "TOKEN=hunter2\n", "releases/other/app/file.txt": "hunter2" });
    const outside = temporaryFolder();
    writeFiles(outside, { "file.txt": "hunter2" });
    const targets = [
      join(made.dataDir, "secrets.env"),
      join(made.dataDir, "releases/other/app/file.txt"),
      join(outside, "file.txt"),
    ];
    const app = `
      const fs = require("node:fs");
      const tried = ${JSON.stringify(targets)}.map((path) => { try { return fs.readFileSync(path, "utf8"); } catch (e) { return e.code; } });
      const listed = fs.readdirSync(${JSON.stringify(made.dataDir)});
      const write = (path) => { try { fs.writeFileSync(path, "x"); return "written"; } catch (e) { return e.code; } };
      const writes = [write("own.txt"), write("/usr/x"), write("/x"), write("/tmp/x"), write(process.env.HOME + "/x")];
      const processes = fs.readdirSync("/proc").filter((name) => /^\\d+$/.test(name)).length;
      console.log(JSON.stringify({ tried, listed, writes, own: fs.readFileSync("index.js").length, uid: process.getuid(), processes,
        caps: /CapEff:\\s*(\\w+)/.exec(fs.readFileSync("/proc/self/status", "utf8"))[1],
        noNew: /NoNewPrivs:\\s*(\\d)/.exec(fs.readFileSync("/proc/self/status", "utf8"))[1] }));`;
    const started = await startFiles(made, { "index.js": app }, "node index.js", { sandboxed: true });
    const end = await made.runtime.waitForExit(started.releaseId, started, new AbortController().signal);
    expect(end, output(made, started.releaseId, "stderr")).toMatchObject({ exitCode: 0 });
    const seen = JSON.parse(output(made, started.releaseId));
    expect(seen.tried).toEqual(["ENOENT", "ENOENT", "ENOENT"]);
    expect(seen.listed.sort()).toEqual(["releases", "tools"]);
    expect(seen.writes[0]).toBe("written");
    expect(["EROFS", "EACCES"]).toContain(seen.writes[1]);
    expect(["EROFS", "EACCES"]).toContain(seen.writes[2]);
    expect(seen.writes.slice(3)).toEqual(["written", "written"]);
    expect(seen).toMatchObject({ own: app.length, caps: "0000000000000000", noNew: "1" });
    expect(seen.processes).toBeLessThan(6);
    expect(existsSync(join(made.runtime.releaseDirectory(started.releaseId), "own.txt"))).toBe(true);
  });

  it("serves, has its environment, is stopped gracefully and found by its identity", async () => {
    const made = testRuntime();
    const env = { MINE: "a b", LD_PRELOAD: "/nowhere/evil.so", PATH: "/nowhere" };
    const command = `${process.execPath} server.js`;
    const app = await startFiles(made, { "server.js": ECHO_APP }, command, { sandboxed: true, env });
    await until("it listens", () => output(made, app.releaseId).includes("listening"));
    const answer = await (await fetch(`http://127.0.0.1:${app.port}/`)).json();
    expect(answer.env).toMatchObject({ MINE: "a b", QUAYSIDE_RELEASE: app.releaseId });
    expect(await made.runtime.processState(app.releaseId, app)).toEqual({ running: true });
    // The owner's values must not reach the programs that make the private root.
    expect(readFileSync(`/proc/${app.pid}/environ`, "utf8")).not.toContain("evil.so");
    expect(readFileSync(`/proc/${app.pid}/cmdline`, "utf8")).not.toContain("a b");
    await made.runtime.stopRelease(app, 10_000);
    expect(await made.runtime.processState(app.releaseId, app)).toEqual({ running: false, exitCode: 0, signal: null });
    expect(output(made, app.releaseId)).toBe("listening\nending\n");
  });

  it("ends even what left the process group", async () => {
    const made = testRuntime();
    const app = await startFiles(made, {}, "setsid sh -c 'echo up; touch alive; sleep 600' & wait", {
      sandboxed: true,
    });
    await until("it is up", () => output(made, app.releaseId).includes("up"));
    await made.runtime.stopRelease(app, 100);
    expect(groupHasLiving(app.pid)).toBe(false);
    await made.runtime.stopStrays(app.releaseId);
  });

  it("builds inside, with npm at hand and the files hidden", async () => {
    const made = testRuntime();
    writeFiles(made.dataDir, { "secrets.env": "TOKEN=hunter2\n" });
    const directory = made.runtime.releaseDirectory("built");
    mkdirSync(directory, { recursive: true });
    const build = `npm --version && node -v && ! cat ${join(made.dataDir, "secrets.env")} && echo ok > built.txt`;
    writeFiles(directory, { "index.js": "" });
    const step = recordingStep();
    const request = { directory, settings: { build }, env: {}, sandboxed: true };
    await made.runtime.buildRelease(request, step);
    expect(step.text("stdout")).toContain(process.version);
    expect(step.text()).not.toContain("hunter2");
    expect(readFileSync(join(directory, "built.txt"), "utf8")).toBe("ok\n");
  });
});

describe("without a working bwrap", () => {
  it.skipIf(works)("refuses to start rather than run without a private root", async () => {
    const made = testRuntime();
    await expect(startFiles(made, {}, "true", { sandboxed: true })).rejects.toMatchObject({ step: "start" });
  });
});
