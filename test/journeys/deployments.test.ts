import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isRunning, openApp } from "../support/apps.ts";
import { createDeployer } from "../support/deploying.ts";
import { createRepository, type GitRepository, webApp } from "../support/git-repository.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { until } from "../support/until.ts";

describe("deploying a git commit", () => {
  let quayside: TestQuayside;
  let token: string;
  const repositories: GitRepository[] = [];
  const repository = () => {
    const made = createRepository();
    repositories.push(made);
    return made;
  };

  beforeAll(async () => {
    quayside = await startTestQuayside();
    token = (await quayside.makeKey(quayside.adminToken)).secret;
  });

  afterAll(async () => {
    await quayside?.stop();
    for (const made of repositories) made.remove();
  });

  it("runs exactly the commit that was asked for, not the branch's newest", async () => {
    const repo = repository();
    const first = repo.commit(webApp("first"));
    repo.commit(webApp("second"));
    const app = await createDeployer(quayside, token, repo);
    const record = await app.deploy(first);
    expect(record).toMatchObject({ status: "deployed", error: null, commitSha: first, branch: "main" });
    expect(record.resolvedBuildConfig).toEqual({ repo: repo.path });
    expect(record.url).toBe(`http://${app.slug}.localhost:${quayside.appsPort}`);
    const reply = await openApp(quayside.appsPort, `${app.slug}.localhost`);
    expect(reply).toMatchObject({ status: 200, text: "first" });
  });

  it("switches to a new release without a failed request and stops the old one", async () => {
    const repo = repository();
    const app = await createDeployer(quayside, token, repo);
    const host = `${app.slug}.localhost`;
    await app.deploy(repo.commit(webApp("old")));
    const oldPid = Number((await openApp(quayside.appsPort, host, "/pid")).text);
    const queued = await app.queue(repo.commit(webApp("new")));
    const answers: string[] = [];
    let done = false;
    const load = Array.from({ length: 4 }, async () => {
      while (!done && answers.length < 5_000) {
        const { status, text } = await openApp(quayside.appsPort, host);
        answers.push(`${status} ${text}`);
      }
    });
    // A request that the old release has in hand when the switch comes is answered by it.
    const slow = openApp(quayside.appsPort, host, "/slow");
    await app.ended(queued);
    await until("the old release has stopped", () => !isRunning(oldPid));
    done = true;
    await Promise.all(load);
    expect((await slow).status).toBe(200);
    expect(new Set(answers)).toEqual(new Set(["200 old", "200 new"]));
    expect(answers.at(-1)).toBe("200 new");
  });

  it("builds with the build script and shows its output line by line", async () => {
    const repo = repository();
    const files = webApp("unused");
    const sha = repo.commit({
      ...files,
      "package.json": JSON.stringify({ scripts: { build: "node build.js", start: "node dist.mjs" } }),
      "build.js":
        'console.log("one"); console.error("two"); require("fs").copyFileSync("server.js", "dist.mjs"); console.log("three");',
    });
    const app = await createDeployer(quayside, token, repo);
    const record = await app.deploy(sha);
    expect(record).toMatchObject({ status: "deployed" });
    const logs = await app.logs(record.id);
    expect(logs).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z web one$/m);
    expect(logs.indexOf(" web one\n")).toBeLessThan(logs.indexOf(" web three\n"));
    expect(logs).toContain(" web two\n");
    await until("the app's own line is there", async () => (await app.logs(record.id)).includes(" web listening\n"));
  });

  it("passes the configured environment to the app, and nothing of Quayside's own", async () => {
    const repo = repository();
    const app = await createDeployer(quayside, token, repo, { buildConfig: { env: { GREETING: "hallo" } } });
    const record = await app.deploy(repo.commit(webApp("x", "console.log(JSON.stringify(process.env));")));
    const line = await until("the environment was printed", async () =>
      (await app.logs(record.id)).split("\n").find((candidate) => candidate.includes('"GREETING"')),
    );
    const printed = JSON.parse(line.slice(line.indexOf("{")));
    expect(printed).toMatchObject({ GREETING: "hallo", HOST: "127.0.0.1", NODE_ENV: "production" });
    expect(Object.keys(printed).filter((name) => /SECRET|TOKEN|DATABASE|BOOTSTRAP|ENCRYPTION/.test(name))).toEqual([]);
  });

  it("leaves the old release serving when the build fails, and says why", async () => {
    const repo = repository();
    const app = await createDeployer(quayside, token, repo);
    await app.deploy(repo.commit(webApp("good")));
    const record = await app.deploy(
      repo.commit({
        "package.json": JSON.stringify({ scripts: { build: "echo broken; exit 7", start: "node server.js" } }),
      }),
    );
    expect(record.status).toBe("failed");
    expect(record.error).toMatch(/7/);
    expect(record.finishedAt).not.toBeNull();
    expect(await app.logs(record.id)).toContain(" web broken\n");
    expect((await openApp(quayside.appsPort, `${app.slug}.localhost`)).text).toBe("good");
  });

  it("leaves the old release serving when the new one crashes at start, and says why", async () => {
    const repo = repository();
    const app = await createDeployer(quayside, token, repo);
    await app.deploy(repo.commit(webApp("good")));
    const record = await app.deploy(repo.commit(webApp("bad", "process.exit(9);")));
    expect(record).toMatchObject({ status: "failed" });
    expect(record.error).toContain("9");
    expect((await openApp(quayside.appsPort, `${app.slug}.localhost`)).text).toBe("good");
  });

  it("leaves the old release serving when the health check never passes, and says what it got", async () => {
    const repo = repository();
    const app = await createDeployer(quayside, token, repo);
    await app.deploy(repo.commit(webApp("good")));
    const change = await quayside.call("PATCH", `/api/projects/${app.projectId}`, {
      token,
      body: { buildConfig: { healthcheck: "/healthy", healthTimeoutMs: 1_000 } },
    });
    expect(change.status).toBe(200);
    const sick = webApp("sick");
    const record = await app.deploy(
      repo.commit({
        ...sick,
        "server.js": (sick["server.js"] ?? "").replace("(req, res) => {", "(req, res) => { res.statusCode = 418;"),
      }),
    );
    expect(record.status).toBe("failed");
    expect(record.error).toContain("/healthy");
    expect((await openApp(quayside.appsPort, `${app.slug}.localhost`)).text).toBe("good");
  });

  it("fails with the reason when the repository, the branch or the commit is not there", async () => {
    const repo = repository();
    const sha = repo.commit(webApp("x"));
    const nowhere = await createDeployer(quayside, token, { path: `${repo.path}-missing` });
    expect(await nowhere.deploy(sha)).toMatchObject({
      status: "failed",
      error: expect.stringContaining(`${repo.path}-missing`),
    });
    const app = await createDeployer(quayside, token, repo);
    const noBranch = await app.ended(await app.queue(sha, "elsewhere"));
    expect(noBranch).toMatchObject({ status: "failed", error: expect.stringContaining("elsewhere") });
    const noCommit = await app.deploy("0123456789abcdef0123456789abcdef01234567");
    expect(noCommit).toMatchObject({ status: "failed", error: expect.stringContaining("0123456789ab") });
  });

  it("refuses a commit that exists but is not on the branch", async () => {
    const repo = repository();
    repo.commit(webApp("main"));
    repo.git("checkout", "--quiet", "-b", "side");
    const side = repo.commit(webApp("side"));
    const app = await createDeployer(quayside, token, repo);
    const record = await app.deploy(side);
    expect(record).toMatchObject({ status: "failed", error: expect.stringMatching(/not on branch.*main/i) });
    expect(await app.ended(await app.queue(side, "side"))).toMatchObject({ status: "deployed" });
  });

  it("supersedes older queued deployments by a newer one", async () => {
    const repo = repository();
    const app = await createDeployer(quayside, token, repo);
    const slowBuild = { scripts: { build: "sleep 1", start: "node server.js" } };
    const first = repo.commit({ ...webApp("one"), "package.json": JSON.stringify({ ...slowBuild, type: "module" }) });
    const second = repo.commit(webApp("two"));
    const third = repo.commit(webApp("three"));
    const running = await app.queue(first);
    await until("the first one is building", async () => {
      const { body } = await quayside.call("GET", `/api/deployments/${running}`, { token });
      return body.status === "building";
    });
    const waiting = await app.queue(second);
    const newest = await app.queue(third);
    expect(await app.ended(running)).toMatchObject({ status: "deployed" });
    expect(await app.ended(waiting)).toMatchObject({ status: "superseded" });
    expect(await app.ended(newest)).toMatchObject({ status: "deployed" });
    expect((await openApp(quayside.appsPort, `${app.slug}.localhost`)).text).toBe("three");
  });

  it("cancels a running build when its status is set to cancelled", async () => {
    const repo = repository();
    const app = await createDeployer(quayside, token, repo);
    const sha = repo.commit({
      "package.json": JSON.stringify({ scripts: { build: "echo pid $$; exec sleep 600", start: "node server.js" } }),
    });
    const id = await app.queue(sha);
    const line = await until("the build runs", async () => /web pid (\d+)/.exec(await app.logs(id)));
    const buildPid = Number(line[1]);
    expect(isRunning(buildPid)).toBe(true);
    await quayside.call("PATCH", `/api/deployments/${id}`, { token, body: { status: "cancelled" } });
    await until("the build's process is gone", () => !isRunning(buildPid));
    await until("the deployment has ended", async () => {
      const { body } = await quayside.call("GET", `/api/deployments/${id}`, { token });
      return body.finishedAt !== null && body.status === "cancelled";
    });
  });

  it("starts an app again that crashed, and says so in its log", async () => {
    const repo = repository();
    const app = await createDeployer(quayside, token, repo);
    const record = await app.deploy(repo.commit(webApp("alive")));
    const host = `${app.slug}.localhost`;
    const pid = Number((await openApp(quayside.appsPort, host, "/pid")).text);
    await openApp(quayside.appsPort, host, "/crash").catch(() => {});
    await until("the app answers again", async () => {
      const reply = await openApp(quayside.appsPort, host, "/pid").catch(() => null);
      return reply?.status === 200 && Number(reply.text) !== pid;
    });
    await until("its log says how it ended", async () => (await app.logs(record.id)).includes("with code 3"));
  });

  it("stops what a deleted project ran and frees its host name", async () => {
    const repo = repository();
    const app = await createDeployer(quayside, token, repo);
    await app.deploy(repo.commit(webApp("soon gone")));
    const host = `${app.slug}.localhost`;
    const pid = Number((await openApp(quayside.appsPort, host, "/pid")).text);
    const deleted = await quayside.call("DELETE", `/api/projects/${app.projectId}`, { token });
    expect(deleted.body).toEqual({ success: true });
    await until("its process has ended", () => !isRunning(pid));
    const page = await openApp(quayside.appsPort, host);
    expect(page.status).toBe(404);
    expect(page.text).toContain(host);
    const mirror = join(quayside.dataDir, "hosting", "git", `${app.projectId}.git`);
    await until("what was fetched is gone", () => !existsSync(mirror));
  });

  it("gives two organizations with one slug two addresses", async () => {
    const repo = repository();
    const sha = repo.commit(webApp("same slug"));
    const { token: otherToken } = await quayside.signUp("neighbour");
    const mine = await createDeployer(quayside, token, repo, { name: "Twin" });
    const theirs = await createDeployer(quayside, otherToken, repo, { name: "Twin" });
    expect([mine.slug, theirs.slug]).toEqual(["twin", "twin"]);
    await mine.deploy(sha);
    await theirs.queue(sha);
    const { body } = await quayside.call("GET", `/api/projects/${theirs.projectId}`, { token: otherToken });
    expect(body.url).toBe(`http://twin-neighbour.localhost:${quayside.appsPort}`);
  });
});
