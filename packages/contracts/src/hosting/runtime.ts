/**
 * What Quayside asks of the place where releases run. `runtime` implements this; `core` is handed it.
 * Every method takes an `AbortSignal`: it ends the children it started and rejects with the signal's reason.
 */

/** One captured line. `system` lines are Quayside's own words about a step. */
export interface LogLine {
  at: Date;
  stream: "stdout" | "stderr" | "system";
  /** Without its line end; at most `MAX_LOG_LINE_BYTES` of UTF-8, cut at a character and marked with `…` when longer. */
  line: string;
}

export const MAX_LOG_LINE_BYTES = 16_384;

/** How a project is built, started and checked. Every field is optional; the defaults come from its package.json. */
export interface BuildSettings {
  /** Folder inside the repository, relative, without `..`. Default: the repository's root. */
  root?: string | undefined;
  /** Shell command that builds. Default: `npm run build` when package.json has that script. */
  build?: string | undefined;
  /** Shell command that starts the app. Default: `npm start`'s own script. */
  start?: string | undefined;
}

export interface HealthSettings {
  /** Path that must answer 2xx or 3xx. Null: any HTTP answer below 500 on `/` is a pass. */
  path: string | null;
  /** The gate gives up after this long. */
  timeoutMs: number;
}

/** A step that failed for a reason the deployment's owner can act on. Its message is public. */
export class StepFailure extends Error {
  readonly step: StepName;
  constructor(step: StepName, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StepFailure";
    this.step = step;
  }
}

export type StepName = "fetch" | "build" | "start" | "health-check" | "switch" | "drain";

export interface StepContext {
  signal: AbortSignal;
  log(line: LogLine): void;
}

export interface FetchRequest {
  projectId: string;
  repo: string;
  branch: string;
  /** 7 to 64 hex digits; a short one is completed. */
  commitSha: string;
  /** Empty or missing folder that receives the files of exactly that commit. It is emptied first. */
  directory: string;
}

export interface BuildRequest {
  directory: string;
  settings: BuildSettings;
  env: Readonly<Record<string, string>>;
  /** Builds and runs in a private root that shows neither Quayside's files nor another tenant's. */
  sandboxed: boolean;
}

export interface StartRequest extends BuildRequest {
  releaseId: string;
  /** Command found at build time and frozen in the release. */
  command: string;
}

/** Enough to find a process again after Quayside was restarted, and never to mistake another for it. */
export interface ProcessIdentity {
  pid: number;
  /** Boot id and kernel start time of the process; a reused pid differs. */
  startToken: string;
}

export interface RunningProcess extends ProcessIdentity {
  port: number;
}

export type ProcessState = { running: true } | { running: false; exitCode: number | null; signal: string | null };

/** Byte offsets up to which a release's output files were captured. */
export interface LogOffsets {
  stdout: number;
  stderr: number;
}

/** Lines read from a release's output and the offsets after them: store both together, so that nothing is lost or doubled. */
export interface LogBatch {
  lines: LogLine[];
  offsets: LogOffsets;
}

export interface LogCapture {
  /** Reads what is left, hands it over and stops. */
  stop(): Promise<void>;
}

export interface Runtime {
  /** True when this machine can give a release a private root (`bwrap` is on the PATH and works). */
  canSandbox(): Promise<boolean>;
  /** Says why a repository address is refused, or null. No network, no file access beyond resolving a local path. */
  explainRefusedRepo(repo: string): string | null;
  /** Fetches exactly that commit after proving that the branch contains it. Throws StepFailure `fetch`. */
  fetchCommit(request: FetchRequest, step: StepContext): Promise<{ commitSha: string }>;
  /** Installs, builds, and answers the command that starts the app. Throws StepFailure `build`. */
  buildRelease(request: BuildRequest, step: StepContext): Promise<{ command: string }>;
  /** Starts the release on a fresh loopback port, detached, its output going to files. Throws StepFailure `start`. */
  startRelease(request: StartRequest, step: StepContext): Promise<RunningProcess>;
  processState(releaseId: string, process: ProcessIdentity): Promise<ProcessState>;
  /** Resolves when the process ends (found by polling when it is not our child). */
  waitForExit(releaseId: string, process: ProcessIdentity, signal: AbortSignal): Promise<ProcessState>;
  /** Ends processes that carry this release's mark (QUAYSIDE_RELEASE) and that no row knows: what a crash between start and record left. */
  stopStrays(releaseId: string): Promise<void>;
  /** SIGTERM to the whole group, SIGKILL after `graceMs`. Resolves when nothing of it is left. */
  stopRelease(process: ProcessIdentity, graceMs: number): Promise<void>;
  /** Consecutive passes, then a short bake while the process must stay alive. Throws StepFailure `health-check`. */
  waitUntilHealthy(
    releaseId: string,
    process: RunningProcess,
    health: HealthSettings,
    step: StepContext,
  ): Promise<void>;
  /** Follows a release's output from the offsets on. `store` is awaited before the next batch is read. */
  captureLogs(releaseId: string, from: LogOffsets, store: (batch: LogBatch) => Promise<void>): LogCapture;
  /** Folder of a release's files, made from its id alone. */
  releaseDirectory(releaseId: string): string;
  /** Removes a release's files and output. Harmless when they are gone. */
  removeRelease(releaseId: string): Promise<void>;
  /** Removes what was fetched and cached for a project. Harmless when it is gone. */
  removeProject(projectId: string): Promise<void>;
  proxy: AppProxy;
}

/** The reverse proxy in front of deployed apps. */
export interface AppProxy {
  /** Starts to listen; resolves with the port in use. */
  listen(): Promise<number>;
  close(): Promise<void>;
  /** Sends requests for a host name to a release from the next request on. Null target: 503 page. */
  setRoute(hostName: string, target: RouteTarget | null): void;
  removeRoute(hostName: string): void;
  /** Resolves when no request is in flight to the release, or after `timeoutMs`. True: it ran dry. */
  drain(releaseId: string, timeoutMs: number): Promise<boolean>;
}

export interface RouteTarget {
  releaseId: string;
  port: number;
}
