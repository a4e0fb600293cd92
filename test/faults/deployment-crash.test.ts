import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isRunning, openApp } from "../support/apps.ts";
import { createDeployer, type Deployer } from "../support/deploying.ts";
import { openEventStream } from "../support/event-stream.ts";
import { createRepository, type GitRepository, webApp } from "../support/git-repository.ts";
import { createInstallation, type Installation, type QuaysideProcess } from "../support/quayside-process.ts";
import { until } from "../support/until.ts";

/** The app and its build wait at gates, so that the kill hits exactly the step that the test is about. */
describe("kill -9 of Quayside in the middle of a deployment", () => {
  let installation: Installation;
  let quayside: QuaysideProcess;
  let repository: GitRepository;
  let gates: string;
  let token: string;
  let app: Deployer;
  let host: string;

  beforeEach(async () => {
    installation = await createInstallation();
    quayside = await installation.start();
    repository = createRepository();
    gates = mkdtempSync(join(tmpdir(), "quayside-gates-"));
    const session = await installation.signIn();
    const key = await installation.call("POST", "/v1/crm/api-keys", {
      token: session,
      body: { name: "k", environment: "test", scopes: ["read", "write"] },
    });
    token = key.body.secret;
    app = await createDeployer(installation, token, repository);
    host = `${app.slug}.localhost`;
    expect(await app.deploy(repository.commit(webApp("old")))).toMatchObject({ status: "deployed" });
  });

  afterEach(async () => {
    await installation.remove();
    repository.remove();
    rmSync(gates, { recursive: true, force: true });
  });

  const gate = (name: string) => join(gates, name);
  const openGate = (name: string) => writeFileSync(gate(name), "");
  const answer = async () => (await openApp(installation.appsPort, host)).text;

  const buildPids = () => readFileSync(gate("builds"), "utf8").trim().split("\n").map(Number);

  /** Processes of releases of this installation, by the mark that each carries. */
  const appProcesses = () =>
    execFileSync("ps", ["-eo", "pid=,args="], { encoding: "utf8" })
      .split("\n")
      .filter((line) => /\bnode server\.js$/.test(line) && !line.includes("/bin/sh"))
      .map((line) => Number.parseInt(line, 10))
      .filter((pid) => belongsHere(pid));

  const belongsHere = (pid: number) => {
    try {
      return execFileSync("readlink", [`/proc/${pid}/cwd`], { encoding: "utf8" }).startsWith(installation.dataDir);
    } catch {
      return false;
    }
  };

  async function expectNewReleaseAlone(deploymentId: string) {
    expect(await app.ended(deploymentId, 30_000)).toMatchObject({ status: "deployed", error: null });
    await until("only the new release runs", async () => appProcesses().length === 1 && (await answer()) === "new");
    const messages = await storyOf(deploymentId);
    expect(messages.at(0)).toMatch(/^queued/);
    expect(messages.filter((message) => message.startsWith("deployed"))).toHaveLength(1);
  }

  async function storyOf(deploymentId: string): Promise<string[]> {
    const stream = await openEventStream(`${installation.baseUrl}/api/deployments/${deploymentId}/stream`, {
      authorization: `Bearer ${token}`,
    });
    const messages: string[] = [];
    for await (const { event, data } of stream) {
      if (event !== "update") continue;
      const update = JSON.parse(data);
      messages.push(`${update.status}: ${update.message}`);
      if (update.status === "deployed") break;
    }
    return messages;
  }

  it("while it builds: the next process starts over and deploys, and no build is left behind", async () => {
    const sha = repository.commit({
      ...webApp("new"),
      "build.sh": `echo $$ >> ${gate("builds")}\nwhile [ ! -e ${gate("build")} ]; do sleep 0.05; done\n`,
      "package.json": JSON.stringify({ type: "module", scripts: { build: "sh build.sh", start: "node server.js" } }),
    });
    const id = await app.queue(sha);
    await until("the build waits at its gate", () => existsSync(gate("builds")));
    await quayside.crash();
    expect(await answer().catch(() => "proxy gone")).toBe("proxy gone");
    await installation.start();
    expect(await answer()).toBe("old");
    await until("the build was begun again", () => buildPids().length === 2);
    expect(buildPids().map(isRunning)).toEqual([false, true]);
    openGate("build");
    await expectNewReleaseAlone(id);
  });

  it("after the new release was started: it is not left behind as an orphan", async () => {
    const waiting = `const { existsSync, appendFileSync } = await import("node:fs");
appendFileSync(${JSON.stringify(gate("pids"))}, process.pid + "\\n");
while (!existsSync(${JSON.stringify(gate("start"))})) await new Promise((r) => setTimeout(r, 20));`;
    const id = await app.queue(repository.commit(webApp("new", waiting)));
    await until("the new release waits at its gate", () => existsSync(gate("pids")));
    const orphan = appProcesses();
    expect(orphan).toHaveLength(2);
    await quayside.crash();
    openGate("start");
    await installation.start();
    await expectNewReleaseAlone(id);
    const firstTry = Number.parseInt(execFileSync("head", ["-1", gate("pids")], { encoding: "utf8" }), 10);
    expect(isRunning(firstTry)).toBe(false);
  });

  it("SIGTERM instead: the deployment is given back, and the next process finishes it", async () => {
    const waiting = `const { existsSync, appendFileSync } = await import("node:fs");
appendFileSync(${JSON.stringify(gate("pids"))}, process.pid + "\\n");
while (!existsSync(${JSON.stringify(gate("start"))})) await new Promise((r) => setTimeout(r, 20));`;
    const id = await app.queue(repository.commit(webApp("new", waiting)));
    await until("the new release waits at its gate", () => existsSync(gate("pids")));
    expect(await quayside.stop()).toBe(0);
    expect(appProcesses()).toEqual([]);
    openGate("start");
    await installation.start();
    await expectNewReleaseAlone(id);
  });

  it("while the old release drains: the new one serves and the old one is stopped", async () => {
    const open = openApp(installation.appsPort, host, "/slow").catch(() => null);
    const id = await app.queue(repository.commit(webApp("new")));
    await app.ended(id);
    await quayside.crash();
    await open;
    await installation.start();
    await expectNewReleaseAlone(id);
  });

  it("with nothing under way: the app is found again, the same process, and its log goes on", async () => {
    const [before] = appProcesses();
    await quayside.crash();
    await installation.start();
    expect(await answer()).toBe("old");
    expect(appProcesses()).toEqual([before]);
  });

  it("and the app died meanwhile: it is started again", async () => {
    const [before] = appProcesses();
    await quayside.crash();
    process.kill(before ?? 0, "SIGKILL");
    await installation.start();
    await until("the app answers again", async () => (await answer()) === "old");
    expect(appProcesses()).not.toContain(before);
  });

  it("SIGTERM in development stops the apps, and the next start brings them back", async () => {
    expect(await quayside.stop()).toBe(0);
    expect(appProcesses()).toEqual([]);
    await installation.start();
    await until("the app answers again", async () => (await answer()) === "old");
  });

  it("SIGTERM with APPS_ON_STOP=keep leaves the apps running, to be found again", async () => {
    await quayside.stop();
    const keeping = await installation.start("all", { APPS_ON_STOP: "keep" });
    await until("the app answers again", async () => (await answer()) === "old");
    const kept = appProcesses();
    expect(await keeping.stop()).toBe(0);
    expect(appProcesses()).toEqual(kept);
    await installation.start();
    expect(await answer()).toBe("old");
    expect(appProcesses()).toEqual(kept);
  });
});
