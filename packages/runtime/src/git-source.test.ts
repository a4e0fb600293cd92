import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { StepFailure } from "@quayside/contracts";
import { describe, expect, it, onTestFinished } from "vitest";
import { DataLayout } from "./data-layout.ts";
import { GitCommand } from "./git-command.ts";
import { GitSource } from "./git-source.ts";
import { recordingStep, TestRepo, temporaryFolder, testRuntime, until } from "./test-support.ts";

async function fetchFailure(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => new Error("it was fetched"),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StepFailure);
  if (!(error instanceof StepFailure)) throw error;
  expect(error.step).toBe("fetch");
  return error.message;
}

function setup(more: Parameters<typeof testRuntime>[0] = {}) {
  const repo = new TestRepo();
  const made = testRuntime(more);
  const directory = made.runtime.releaseDirectory("rel1");
  const fetch = (
    commitSha: string,
    request: { branch?: string; repo?: string; projectId?: string; directory?: string } = {},
  ) =>
    made.runtime.fetchCommit(
      { projectId: "p1", repo: repo.path, branch: "main", commitSha, directory, ...request },
      recordingStep(),
    );
  return { repo, ...made, directory, fetch };
}

describe("fetchCommit", () => {
  it("checks out exactly the commit, not the branch's tip, into an emptied folder", async () => {
    const { repo, directory, fetch } = setup();
    const first = repo.commit({ "a.txt": "1", "old/b.txt": "old" });
    repo.git("rm", "-rq", "old");
    const second = repo.commit({ "a.txt": "2", "c.txt": "new" });
    expect(await fetch(second)).toEqual({ commitSha: second });
    expect(readdirSync(directory).sort()).toEqual(["a.txt", "c.txt"]);
    writeFileSync(join(directory, "stale.txt"), "x");
    expect(await fetch(first)).toEqual({ commitSha: first });
    expect(readdirSync(directory).sort()).toEqual(["a.txt", "old"]);
    expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("1");
  });

  it("follows a branch that was rewritten, and refuses the commit that left it", async () => {
    const { repo, fetch } = setup();
    repo.commit({ "a.txt": "1" });
    const dropped = repo.commit({ "a.txt": "2" });
    await fetch(dropped);
    repo.git("reset", "--hard", "--quiet", "HEAD~1");
    const kept = repo.commit({ "a.txt": "3" });
    expect(await fetch(kept)).toEqual({ commitSha: kept });
    expect(await fetchFailure(fetch(dropped))).toBe(`commit ${dropped} is not on branch main of ${repo.path}`);
  });

  it("refuses a commit of another branch, and one that exists nowhere", async () => {
    const { repo, fetch } = setup();
    repo.commit({ "a.txt": "1" });
    repo.git("checkout", "-q", "-b", "other");
    const other = repo.commit({ "b.txt": "1" });
    expect(await fetchFailure(fetch(other))).toContain(`commit ${other} is not on branch main of ${repo.path}`);
    expect(await fetchFailure(fetch("0".repeat(40)))).toContain("no such commit was found");
    expect(await fetch(other, { branch: "other" })).toEqual({ commitSha: other });
  });

  it("completes a short SHA inside the branch", async () => {
    const { repo, fetch } = setup();
    const sha = repo.commit({ "a.txt": "1" });
    repo.commit({ "a.txt": "2" });
    expect(await fetch(sha.slice(0, 7).toUpperCase())).toEqual({ commitSha: sha });
    expect(await fetchFailure(fetch("abcdef1"))).toContain("no such commit was found");
    expect(await fetchFailure(fetch("abc"))).toContain("7 to 64 hex digits");
    expect(await fetchFailure(fetch("--output=x"))).toContain("7 to 64 hex digits");
  });

  it("tells that a short SHA is ambiguous", async () => {
    const { repo, fetch } = setup();
    // With fixed dates the SHAs are always the same; among this many, two begin with the same seven digits.
    const commits = Array.from({ length: 40_000 }, (_, index) => {
      const message = `change ${index}`;
      return `commit refs/heads/main\ncommitter T <t@t> 1700000000 +0000\ndata ${message.length}\n${message}\n`;
    });
    repo.git("config", "fastimport.unpackLimit", "1");
    execFileSync("git", ["fast-import", "--quiet"], { cwd: repo.path, input: commits.join("") });
    const seen = new Set<string>();
    const prefix = repo
      .git("rev-list", "main")
      .split("\n")
      .map((sha) => sha.slice(0, 7))
      .find((short) => seen.has(short) || !seen.add(short));
    if (prefix === undefined) throw new Error("no two SHAs begin alike; choose other messages");
    expect(await fetchFailure(fetch(prefix))).toContain(`commit ${prefix} is ambiguous: 2 commits`);
  });

  it("tells a missing repository, a missing branch and a folder that is none apart", async () => {
    const { repo, fetch } = setup();
    const sha = repo.commit({ "a.txt": "1" });
    expect(await fetchFailure(fetch(sha, { branch: "nope" }))).toBe(`branch nope does not exist in ${repo.path}`);
    expect(await fetchFailure(fetch(sha, { repo: "/nowhere/at/all" }))).toContain("was not found on this machine");
    expect(await fetchFailure(fetch(sha, { repo: temporaryFolder() }))).toContain("it is no git repository");
    expect(await fetchFailure(fetch(sha, { branch: "--x" }))).toContain("cannot start with '-'");
    expect(await fetchFailure(fetch(sha, { repo: "ext::sh -c id" }))).toContain("refused");
  });

  it("fetches anew when the cached copy is damaged", async () => {
    const { repo, directory, fetch, dataDir } = setup();
    await fetch(repo.commit({ "a.txt": "1" }));
    const objects = join(new DataLayout(dataDir).mirror("p1"), "objects");
    for (const name of readdirSync(objects, { recursive: true, encoding: "utf8" })) {
      const path = join(objects, name);
      if (!statSync(path).isFile()) continue;
      chmodSync(path, 0o600);
      writeFileSync(path, "");
    }
    const second = repo.commit({ "a.txt": "2" });
    expect(await fetch(second)).toEqual({ commitSha: second });
    expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("2");
  });

  it("hides credentials in what it says", async () => {
    const { fetch } = setup();
    const closed = await new Promise<number>((resolve) => {
      const server = createServer().listen(0, "127.0.0.1", () => {
        const address = server.address();
        server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
      });
    });
    const message = await fetchFailure(
      fetch("a".repeat(40), { repo: `http://user:hunter2@127.0.0.1:${closed}/x.git` }),
    );
    expect(message).toContain("could not be reached");
    expect(message).toContain("***@127.0.0.1");
    expect(message).not.toContain("hunter2");
  });

  it("fetches over the network, and refuses the same host unless private networks are allowed", async () => {
    const { repo, fetch } = setup();
    const strict = setup({ allowPrivateNetworks: false });
    const sha = repo.commit({ "a.txt": "1" });
    const port = await gitDaemon(repo.path);
    const address = `git://127.0.0.1:${port}/`;
    const url = `${address}${repo.path.split("/").at(-1)}`;
    expect(await fetch(sha, { repo: url })).toEqual({ commitSha: sha });
    const message = await fetchFailure(strict.fetch(sha, { repo: url }));
    expect(message).toContain("not on the public internet");
    expect(await fetchFailure(strict.fetch(sha, { repo: "https://localhost/x.git" }))).toContain(
      "not on the public internet",
    );
  });

  it("refuses a link that leads out of the allowed folders", async () => {
    const root = temporaryFolder();
    const { repo, fetch } = setup({ gitLocalRoots: [root] });
    const sha = repo.commit({ "a.txt": "1" });
    symlinkSync(repo.path, join(root, "link"));
    expect(await fetchFailure(fetch(sha, { repo: join(root, "link") }))).toContain("leads out of the allowed folders");
    const inside = testRuntime({ gitLocalRoots: [repo.path] });
    const directory = inside.runtime.releaseDirectory("r");
    const request = { projectId: "p", repo: repo.path, branch: "main", commitSha: sha, directory };
    expect(await inside.runtime.fetchCommit(request, recordingStep())).toEqual({ commitSha: sha });
  });

  it("runs no hook of the repository", async () => {
    const { repo, dataDir, fetch } = setup();
    const sha = repo.commit({ "a.txt": "1" });
    await fetch(sha);
    const proof = join(dataDir, "hook-ran");
    for (const name of ["post-checkout", "reference-transaction", "post-index-change"]) {
      const hooks = join(dataDir, "git", "p1.git", "hooks");
      mkdirSync(hooks, { recursive: true });
      writeFileSync(join(hooks, name), `#!/bin/sh\ntouch ${proof}\n`, { mode: 0o755 });
    }
    await fetch(repo.commit({ "a.txt": "2" }));
    expect(existsSync(proof)).toBe(false);
  });

  it("fetches one at a time per project, each with its own files", async () => {
    const { repo, runtime, fetch } = setup();
    const shas = [1, 2, 3, 4].map((n) => repo.commit({ "a.txt": String(n) }));
    await Promise.all(shas.map((sha, index) => fetch(sha, { directory: runtime.releaseDirectory(`r${index}`) })));
    const contents = shas.map((_, index) => readFileSync(join(runtime.releaseDirectory(`r${index}`), "a.txt"), "utf8"));
    expect(contents).toEqual(["1", "2", "3", "4"]);
  });

  it("gives up on a server that does not answer, and obeys an abort", async () => {
    const silent = createServer((socket) => socket.on("error", () => undefined));
    const port = await new Promise<number>((resolve) => {
      silent.listen(0, "127.0.0.1", () => {
        const address = silent.address();
        resolve(typeof address === "object" && address !== null ? address.port : 0);
      });
    });
    onTestFinished(() => void silent.close());
    const layout = new DataLayout(temporaryFolder());
    const git = new GitCommand(layout);
    const source = (timeoutMs: number) =>
      new GitSource({ layout, git, localRoots: null, allowPrivateNetworks: true, timeoutMs });
    const repo = `git://127.0.0.1:${port}/x`;
    const request = {
      projectId: "p",
      repo,
      branch: "main",
      commitSha: "a".repeat(40),
      directory: join(layout.dataDir, "x"),
    };
    expect(await fetchFailure(source(500).fetchCommit(request, recordingStep()))).toContain(
      "did not answer within 0.5 s",
    );
    const step = recordingStep();
    const connected = new Promise((resolve) => silent.once("connection", resolve));
    const fetching = source(60_000).fetchCommit(request, step);
    await connected;
    step.abort.abort(new Error("cancelled by its owner"));
    await expect(fetching).rejects.toThrow("cancelled by its owner");
  });
});

/** Serves one repository by git's own protocol until the test ends. */
async function gitDaemon(path: string): Promise<number> {
  const port = await new Promise<number>((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
  const base = path.slice(0, path.lastIndexOf("/"));
  const args = [
    "daemon",
    "--listen=127.0.0.1",
    `--port=${port}`,
    `--base-path=${base}`,
    "--export-all",
    "--reuseaddr",
    "--verbose",
    path,
  ];
  const daemon = spawn("git", args, { stdio: ["ignore", "ignore", "pipe"], detached: true });
  onTestFinished(() => {
    if (daemon.pid !== undefined) process.kill(-daemon.pid, "SIGKILL");
  });
  let said = "";
  daemon.stderr.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  await until("the git daemon is ready", () => said.includes("Ready to rumble"));
  return port;
}
