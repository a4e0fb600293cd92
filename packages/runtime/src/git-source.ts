import { mkdir, realpath, rm } from "node:fs/promises";
import { type FetchRequest, type StepContext, StepFailure } from "@quayside/contracts";
import { explainRefusedBranch } from "./branch-name.ts";
import type { DataLayout } from "./data-layout.ts";
import { type GitCommand, type GitResult, sshCommand } from "./git-command.ts";
import { explainGitFailure } from "./git-failure.ts";
import { KeyedMutex } from "./keyed-mutex.ts";
import { resolvePublicAddress } from "./public-address.ts";
import { redactCredentials } from "./redact.ts";
import { isInside, parseRepoAddress, type RepoAddress } from "./repo-address.ts";
import { errorCode } from "./wait.ts";

const FETCH_LIMIT_MS = 120_000;
const COMMIT = /^[0-9a-f]{7,64}$/i;

export interface GitSourceOptions {
  layout: DataLayout;
  git: GitCommand;
  localRoots: readonly string[] | null;
  allowPrivateNetworks: boolean;
  /** Limit of a whole fetch, in milliseconds. Default 120000. */
  timeoutMs?: number | undefined;
}

/** What git is told to contact: the address, and the options that hold it to the address that was vetted. */
interface VettedRemote {
  address: string;
  options: string[];
  env: Record<string, string>;
}

interface FetchJob extends FetchRequest {
  /** The address as it may be shown. */
  shown: string;
  mirror: string;
  run(
    args: readonly string[],
    more?: { env?: Record<string, string>; onLine?: (line: string) => void },
  ): Promise<GitResult>;
}

/** Brings commits from git repositories, through one bare mirror per project. */
export class GitSource {
  readonly #options: GitSourceOptions;
  readonly #mutex = new KeyedMutex();

  constructor(options: GitSourceOptions) {
    this.#options = options;
  }

  /**
   * Fetches the branch, proves that it contains the commit and writes exactly that commit's files into the folder.
   * One fetch at a time per project; at most 120 s. Throws StepFailure `fetch`.
   */
  async fetchCommit(request: FetchRequest, step: StepContext): Promise<{ commitSha: string }> {
    const shown = redactCredentials(request.repo);
    const address = parseRepoAddress(request.repo, this.#options.localRoots);
    if ("refused" in address) throw failure(`${shown} was refused: ${address.refused}`);
    const branchRefusal = explainRefusedBranch(request.branch);
    if (branchRefusal !== null) throw failure(`branch ${JSON.stringify(request.branch)} was refused: ${branchRefusal}`);
    if (!COMMIT.test(request.commitSha)) throw failure("a commit is named by 7 to 64 hex digits");
    return this.#mutex.run(request.projectId, step.signal, () => this.#fetch(request, shown, address, step));
  }

  async #fetch(request: FetchRequest, shown: string, address: RepoAddress, step: StepContext) {
    const limit = this.#options.timeoutMs ?? FETCH_LIMIT_MS;
    const deadline = Date.now() + limit;
    const job: FetchJob = {
      ...request,
      shown,
      mirror: this.#options.layout.mirror(request.projectId),
      run: async (args, more = {}) => {
        const timeoutMs = Math.max(1, deadline - Date.now());
        const result = await this.#options.git.run({ args, signal: step.signal, timeoutMs, ...more });
        if (result.timedOut) throw failure(`${shown} did not answer within ${limit / 1000} s`);
        return result;
      },
    };
    const say = (line: string) => step.log({ at: new Date(), stream: "system", line });
    say(`Fetching ${request.branch} of ${shown}`);
    const remote = await this.#vet(address, job);
    const commitSha = await this.#bring(job, remote).catch(async (error: unknown) => {
      // Fetches do not wait for the disk, so a power cut can leave the mirror in pieces. It is only a cache.
      if (!(error instanceof StepFailure) || (await isSound(job))) throw error;
      say("The cached copy of the repository was damaged; fetching it anew");
      await rm(job.mirror, { recursive: true, force: true });
      return this.#bring(job, remote);
    });
    await this.#options.layout.rememberProject(request.directory, request.projectId);
    say(`Checked out ${commitSha}`);
    return { commitSha };
  }

  async #bring(job: FetchJob, remote: VettedRemote): Promise<string> {
    await this.#updateMirror(job, remote);
    const commitSha = await findCommit(job);
    await checkOut(job, commitSha);
    return commitSha;
  }

  async #vet(address: RepoAddress, job: FetchJob): Promise<VettedRemote> {
    if (address.kind === "path") return { address: await this.#vetPath(address.path, job), options: [], env: {} };
    if (this.#options.allowPrivateNetworks) return { address: job.repo, options: [], env: {} };
    let pinned: string | null;
    try {
      pinned = await resolvePublicAddress(address.host);
    } catch (error) {
      throw failure(`the host of ${job.shown} could not be found (${errorCode(error) ?? "unknown"})`);
    }
    if (pinned === null) throw failure(`${job.shown} was refused: its host is not on the public internet`);
    return pinRemote(address, job.repo, pinned);
  }

  async #vetPath(path: string, job: FetchJob): Promise<string> {
    const real = await realpath(path).catch(() => null);
    if (real === null) throw failure(`${job.shown} was not found on this machine`);
    const roots = this.#options.localRoots;
    if (roots === null) return real;
    const realRoots = await Promise.all(roots.map((root) => realpath(root).catch(() => root)));
    if (realRoots.some((root) => isInside(root, real))) return real;
    throw failure(`${job.shown} was refused: it leads out of the allowed folders`);
  }

  async #updateMirror(job: FetchJob, remote: VettedRemote): Promise<void> {
    const created = await job.run(["init", "--quiet", "--bare", "--", job.mirror]);
    if (created.exitCode !== 0) throw failure(`the mirror of ${job.shown} could not be created`);
    const refspec = `+refs/heads/${job.branch}:refs/heads/${job.branch}`;
    const args = ["--git-dir", job.mirror, ...remote.options, "fetch", "--quiet", "--no-tags", "--prune"];
    const result = await job.run([...args, "--no-recurse-submodules", "--", remote.address, refspec], {
      env: remote.env,
    });
    if (result.exitCode !== 0) throw failure(explainGitFailure(result.stderr, job.shown, job.branch));
  }
}

async function isSound(job: FetchJob): Promise<boolean> {
  const args = ["--git-dir", job.mirror, "fsck", "--connectivity-only", "--no-dangling", "--no-progress"];
  const { exitCode } = await job.run(args);
  return exitCode === 0;
}

function failure(message: string): StepFailure {
  return new StepFailure("fetch", message);
}

/** Holds git to the vetted address, so that a second look-up cannot answer another one. */
function pinRemote(address: RepoAddress & { kind: "remote" }, repo: string, pinned: string): VettedRemote {
  const literal = pinned.includes(":") ? `[${pinned}]` : pinned;
  if (address.protocol === "ssh:") {
    const pin = ` -oHostName=${pinned} -oHostKeyAlias=${address.host}`;
    return { address: repo, options: [], env: { GIT_SSH_COMMAND: sshCommand(pin) } };
  }
  if (address.protocol === "git:" && address.url !== null) {
    return { address: `git://${literal}:${address.port}${address.url.pathname}`, options: [], env: {} };
  }
  const option = `http.curloptResolve=${address.host}:${address.port}:${literal}`;
  return { address: repo, options: ["-c", option], env: {} };
}

async function findCommit(job: FetchJob): Promise<string> {
  const branch = `refs/heads/${job.branch}`;
  const wanted = job.commitSha.toLowerCase();
  const tip = await job.run(["--git-dir", job.mirror, "rev-parse", "--verify", "--quiet", "--end-of-options", branch]);
  const tipSha = tip.stdout[0] ?? "";
  if (tipSha === "") throw failure(`branch ${job.branch} does not exist in ${job.shown}`);
  if (tipSha === wanted) return tipSha;
  if (wanted.length < tipSha.length) return completeCommit(job, branch, wanted);
  const known = await job.run(["--git-dir", job.mirror, "cat-file", "-e", `${wanted}^{commit}`]);
  if (known.exitCode !== 0) {
    throw failure(
      `commit ${wanted} is not on branch ${job.branch} of ${job.shown}: no such commit was found; was it pushed?`,
    );
  }
  const contained = await job.run(["--git-dir", job.mirror, "merge-base", "--is-ancestor", wanted, branch]);
  if (contained.exitCode !== 0) throw failure(`commit ${wanted} is not on branch ${job.branch} of ${job.shown}`);
  return wanted;
}

/** Only the branch's own commits count, so another object that happens to share the digits does not matter. */
async function completeCommit(job: FetchJob, branch: string, prefix: string): Promise<string> {
  const matches: string[] = [];
  const onLine = (line: string) => {
    if (line.startsWith(prefix)) matches.push(line);
  };
  await job.run(["--git-dir", job.mirror, "rev-list", "--end-of-options", branch], { onLine });
  const [only, second] = matches;
  if (second !== undefined) {
    throw failure(`commit ${prefix} is ambiguous: ${matches.length} commits of branch ${job.branch} begin with it`);
  }
  if (only === undefined) {
    throw failure(
      `commit ${prefix} is not on branch ${job.branch} of ${job.shown}: no such commit was found; was it pushed?`,
    );
  }
  return only;
}

async function checkOut(job: FetchJob, commitSha: string): Promise<void> {
  await rm(job.directory, { recursive: true, force: true });
  await mkdir(job.directory, { recursive: true });
  // An index of its own: the mirror's would remember files of another release.
  const index = `${job.mirror}/quayside-index`;
  await rm(index, { force: true });
  const args = ["--git-dir", job.mirror, "--work-tree", job.directory, "read-tree", "--reset", "-u", commitSha];
  const result = await job.run(args, { env: { GIT_INDEX_FILE: index } });
  await rm(index, { force: true });
  if (result.exitCode !== 0) {
    throw failure(
      `the files of commit ${commitSha} could not be written: ${redactCredentials(result.stderr.at(-1) ?? "")}`,
    );
  }
}
