import { readFile, realpath, stat } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { type BuildSettings, StepFailure } from "@quayside/contracts";
import { isInside } from "./repo-address.ts";

/** A package.json or lock file larger than this is not read. */
const MAX_MANIFEST_BYTES = 5 * 1024 * 1024;

export interface BuildPlan {
  /** Folder the commands run in, absolute and without links. */
  folder: string;
  /** Arguments of npm, or null when nothing is to install. */
  install: readonly string[] | null;
  /** Shell command, or null. */
  build: string | null;
  /** Shell command that starts the app. */
  start: string;
}

interface Manifest {
  main: string | null;
  scripts: ReadonlyMap<string, string>;
  hasDependencies: boolean;
}

/** Decides from the settings and package.json how a checked-out folder is installed, built and started. */
export async function planBuild(directory: string, settings: BuildSettings): Promise<BuildPlan> {
  const folder = await resolveRoot(directory, settings.root);
  const manifest = await readManifest(directory, folder);
  const locked = await isFile(directory, join(folder, "package-lock.json"));
  const install = manifest.hasDependencies ? [locked ? "ci" : "install"] : null;
  const build = settings.build ?? (manifest.scripts.has("build") ? "npm run build" : null);
  const start = settings.start ?? manifest.scripts.get("start") ?? (await defaultStart(directory, folder, manifest));
  return { folder, install, build, start };
}

/** Absolute folder of `root` inside a release. Throws StepFailure `build` when it leads out or is missing. */
export async function resolveRoot(directory: string, root: string | undefined): Promise<string> {
  const base = await realpath(directory).catch(() => null);
  if (base === null) throw failure("the release has no files; fetch it again");
  if (root === undefined || root === "") return base;
  if (isAbsolute(root) || root.split(/[\\/]/).includes("..") || root.includes("\0")) {
    throw failure(`root ${JSON.stringify(root)} must be a relative folder without '..'`);
  }
  const real = await realpath(join(base, root)).catch(() => null);
  if (real === null) throw failure(`root ${JSON.stringify(root)} does not exist in this commit`);
  if (!isInside(base, real)) throw failure(`root ${JSON.stringify(root)} leads out of the repository`);
  if (!(await stat(real)).isDirectory()) throw failure(`root ${JSON.stringify(root)} is not a folder`);
  return real;
}

async function readManifest(directory: string, folder: string): Promise<Manifest> {
  const path = join(folder, "package.json");
  if (!(await isFile(directory, path))) return { main: null, scripts: new Map(), hasDependencies: false };
  if ((await stat(path)).size > MAX_MANIFEST_BYTES) throw failure("package.json is too large");
  let content: unknown;
  try {
    content = JSON.parse((await readFile(path, "utf8")).replace(/^\ufeff/, ""));
  } catch (error) {
    throw failure(`package.json is not valid JSON: ${error instanceof Error ? error.message : "unreadable"}`);
  }
  const root = entriesOf(content);
  const scripts = [...entriesOf(root.get("scripts"))].filter((entry): entry is [string, string] => isCommand(entry[1]));
  const main = root.get("main");
  const hasDependencies = ["dependencies", "devDependencies", "optionalDependencies"].some(
    (name) => entriesOf(root.get(name)).size > 0,
  );
  return { main: typeof main === "string" && main !== "" ? main : null, scripts: new Map(scripts), hasDependencies };
}

async function defaultStart(directory: string, folder: string, manifest: Manifest): Promise<string> {
  const candidates =
    manifest.main === null ? [] : [manifest.main, `${manifest.main}.js`, join(manifest.main, "index.js")];
  for (const candidate of [...candidates, "server.js", "index.js"]) {
    const path = join(folder, candidate);
    if (isInside(folder, path) && (await isFile(directory, path))) return `node ${quote(candidate)}`;
  }
  throw failure('nothing says how to start the app: set a start command, or "scripts.start" or "main" in package.json');
}

/** True for a file whose real place is inside the release: a link must not make Quayside read another's file. */
async function isFile(directory: string, path: string): Promise<boolean> {
  const [base, real] = await Promise.all([realpath(directory), realpath(path).catch(() => null)]);
  return real !== null && isInside(base, real) && (await stat(real)).isFile();
}

function entriesOf(value: unknown): ReadonlyMap<string, unknown> {
  return new Map(typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : []);
}

function isCommand(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

function quote(word: string): string {
  const safe = word.startsWith("-") ? `./${word}` : word;
  return `'${safe.replaceAll("'", `'\\''`)}'`;
}

function failure(message: string): StepFailure {
  return new StepFailure("build", message);
}
