// Shows the whole journey on a running Quayside: sign in, make a key, create a project from a git repository, deploy
// two commits with live logs, and open the app through the proxy. `npm run demo` beside `npm start`.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { styleText } from "node:util";
import { createQuayside, type Quayside, QuaysideError } from "@quayside/sdk";
import { ROOT, readSettings } from "./settings.ts";

const DEPLOY_TIMEOUT_MS = 60_000;
const coloured = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;

type Colour = "green" | "red" | "cyan" | "dim" | "bold";
const paint = (colour: Colour, text: string) => (coloured ? styleText(colour, text) : text);
const say = (text: string) => process.stdout.write(`${text}\n`);

const timings: [string, number][] = [];

async function step<T>(name: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  say(`${paint("cyan", "→")} ${name}`);
  const result = await work();
  const ms = performance.now() - startedAt;
  timings.push([name, ms]);
  say(`${paint("green", "✓")} ${name} ${paint("dim", `${ms.toFixed(0)} ms`)}`);
  return result;
}

function git(directory: string, ...args: string[]): string {
  const identity = ["-c", "user.name=Demo", "-c", "user.email=demo@example.com", "-c", "commit.gpgsign=false"];
  return execFileSync("git", [...identity, ...args], { cwd: directory, encoding: "utf8" }).trim();
}

/** A repository with two commits of the hello app. */
function makeRepository(directory: string): [string, string] {
  cpSync(join(ROOT, "examples/hello-node"), directory, { recursive: true });
  git(directory, "init", "--quiet", "--initial-branch=main");
  git(directory, "add", ".");
  git(directory, "commit", "--quiet", "-m", "First edition");
  const first = git(directory, "rev-parse", "HEAD");
  const file = join(directory, "server.js");
  writeFileSync(file, readFileSync(file, "utf8").replace("first edition", "second edition"));
  git(directory, "commit", "--quiet", "-am", "Second edition");
  return [first, git(directory, "rev-parse", "HEAD")];
}

/** Deploys a commit and prints status and log as they come; resolves with the app's address. */
async function deploy(quayside: Quayside, projectId: string, commitSha: string): Promise<string> {
  const deployment = await quayside.api.hosting.deployments.create.mutate({ projectId, branch: "main", commitSha });
  const signal = AbortSignal.timeout(DEPLOY_TIMEOUT_MS);
  const logs = new AbortController();
  const printing = (async () => {
    const lines = quayside.deployments.logs(deployment.id, { signal: AbortSignal.any([signal, logs.signal]) });
    for await (const { component, line } of lines) say(`  ${paint("dim", `${component} |`)} ${line}`);
  })();
  try {
    for await (const { status, message } of quayside.deployments.stream(deployment.id, { signal })) {
      say(`  ${paint("bold", status.padEnd(9))} ${message}`);
      if (status === "deployed") break;
      if (["failed", "cancelled", "superseded"].includes(status))
        throw new Error(`The deployment ${status}: ${message}`);
    }
  } finally {
    logs.abort();
    await printing;
  }
  signal.throwIfAborted();
  const { url } = await quayside.api.hosting.deployments.get.query({ id: deployment.id });
  if (!url) throw new Error("The deployment has no address.");
  return url;
}

/** What the app answers. `*.localhost` is this machine, also where the resolver does not know it. */
function open(url: string): Promise<string> {
  const { host, port } = new URL(url);
  return new Promise((done, failed) => {
    const req = request({ host: "127.0.0.1", port: port || 80, headers: { host } }, (res) => {
      let body = "";
      res.setEncoding("utf8");
      res.on("data", (chunk: string) => {
        body += chunk;
      });
      res.on("end", () => done(body.trim()));
    });
    req.on("error", failed);
    req.end();
  });
}

async function main(): Promise<void> {
  const { baseUrl, username, password } = readSettings();
  const directory = mkdtempSync(join(tmpdir(), "quayside-demo-"));
  const anonymous = createQuayside({ baseUrl });
  try {
    const [first, second] = await step("Make a git repository with two commits", async () => makeRepository(directory));
    const session = await step(`Sign in as ${username}`, () =>
      anonymous.api.identity.sessions.login.mutate({ username, password }),
    );
    const person = createQuayside({ baseUrl, token: session.token });
    const { secret } = await step("Make an API key", () =>
      person.api.identity.apiKeys.create.mutate({ name: "demo", environment: "dev", scopes: ["read", "write"] }),
    );
    const quayside = createQuayside({ baseUrl, token: secret });
    try {
      const project = await step("Create the project", () =>
        quayside.api.hosting.projects.create.mutate({ name: "Hello Node", repo: directory }),
      );
      const url = await step("Deploy the first commit", () => deploy(quayside, project.id, first));
      await step(`Open ${url}`, async () => say(`  ${paint("bold", await open(url))}`));
      await step("Deploy the second commit", () => deploy(quayside, project.id, second));
      await step(`Open ${url} again`, async () => say(`  ${paint("bold", await open(url))}`));
      say(`\n${paint("green", "Done.")} The app stays at ${url}. Time of each step:`);
      for (const [name, ms] of timings) say(`  ${ms.toFixed(0).padStart(6)} ms  ${name}`);
    } finally {
      quayside.close();
    }
  } finally {
    anonymous.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

try {
  await main();
} catch (error) {
  const hint =
    error instanceof QuaysideError && error.status === null ? " Is Quayside running? Start it with 'npm start'." : "";
  process.stderr.write(`${paint("red", "✗")} ${error instanceof Error ? error.message : String(error)}${hint}\n`);
  process.exitCode = 1;
}
