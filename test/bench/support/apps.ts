import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Quayside } from "@quayside/sdk";
import { ROOT } from "./children.ts";

const DEPLOY_LIMIT_MS = 60_000;
const FAILED = ["failed", "cancelled", "superseded"];

/** A git repository made for a benchmark. */
export interface Repository {
  directory: string;
  commits: string[];
}

/** The hello app of the examples, with `count` commits that differ. */
export function makeHelloRepository(directory: string, count: number): Repository {
  cpSync(join(ROOT, "examples/hello-node"), directory, { recursive: true });
  const file = join(directory, "server.js");
  const source = readFileSync(file, "utf8");
  git(directory, "init", "--quiet", "--initial-branch=main");
  const commits = Array.from({ length: count }, (_, index) => {
    writeFileSync(file, source.replace("first edition", `edition ${index + 1}`));
    return commit(directory, `Edition ${index + 1}`);
  });
  return { directory, commits };
}

/** One commit of an app that consists of `server.js` alone. */
export function makeRepository(directory: string, source: string): Repository {
  writeFileSync(join(directory, "server.js"), source);
  const manifest = {
    name: "app",
    version: "1.0.0",
    private: true,
    type: "module",
    scripts: { start: "node server.js" },
  };
  writeFileSync(join(directory, "package.json"), JSON.stringify(manifest));
  git(directory, "init", "--quiet", "--initial-branch=main");
  return { directory, commits: [commit(directory, "The app")] };
}

function commit(directory: string, message: string): string {
  git(directory, "add", ".");
  git(directory, "commit", "--quiet", "-m", message);
  return git(directory, "rev-parse", "HEAD");
}

function git(directory: string, ...args: string[]): string {
  const identity = ["-c", "user.name=Bench", "-c", "user.email=bench@example.com", "-c", "commit.gpgsign=false"];
  return execFileSync("git", [...identity, ...args], { cwd: directory, encoding: "utf8" }).trim();
}

export interface Deployed {
  id: string;
  url: string;
  /** From the request to the update `deployed`. */
  ms: number;
}

export async function deploy(quayside: Quayside, projectId: string, commitSha: string): Promise<Deployed> {
  const startedAt = performance.now();
  const { id } = await quayside.api.hosting.deployments.create.mutate({ projectId, branch: "main", commitSha });
  const signal = AbortSignal.timeout(DEPLOY_LIMIT_MS);
  for await (const { status, message } of quayside.deployments.stream(id, { signal })) {
    if (FAILED.includes(status)) throw new Error(`The deployment ${status}: ${message}`);
    if (status === "deployed") break;
  }
  signal.throwIfAborted();
  const ms = performance.now() - startedAt;
  const { url } = await quayside.api.hosting.deployments.get.query({ id });
  if (!url) throw new Error("The deployment has no address.");
  return { id, url, ms };
}
