import { readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

const SAFE_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;

/** Where everything of one machine lies. Every path is made from ids alone, so it can be found again after a restart. */
export class DataLayout {
  readonly dataDir: string;

  constructor(dataDir: string) {
    this.dataDir = resolve(dataDir);
  }

  get gitDirectory(): string {
    return join(this.dataDir, "git");
  }

  get toolsDirectory(): string {
    return join(this.dataDir, "tools", "bin");
  }

  mirror(projectId: string): string {
    return join(this.gitDirectory, `${safeName(projectId)}.git`);
  }

  projectHome(projectId: string): string {
    return join(this.dataDir, "homes", safeName(projectId));
  }

  releaseRoot(releaseId: string): string {
    return join(this.dataDir, "releases", safeName(releaseId));
  }

  releaseApp(releaseId: string): string {
    return join(this.releaseRoot(releaseId), "app");
  }

  releaseLogs(releaseId: string): string {
    return join(this.releaseRoot(releaseId), "log");
  }

  exitFile(releaseId: string): string {
    return join(this.releaseRoot(releaseId), "exit");
  }

  /**
   * Notes which project a release's files belong to, so that its build and its runs share that project's cache home.
   * The note lies beside the folder, where the app's own files cannot forge it.
   */
  async rememberProject(directory: string, projectId: string): Promise<void> {
    if (this.#isRelease(directory)) await writeFile(join(dirname(directory), "project"), safeName(projectId));
  }

  /** Cache home of the project a folder belongs to; one of its own when the project is unknown. */
  async homeOf(directory: string): Promise<string> {
    if (!this.#isRelease(directory)) return `${resolve(directory)}.home`;
    const note = await readFile(join(dirname(directory), "project"), "utf8").catch(() => null);
    if (note === null) return join(dirname(directory), "home");
    return this.projectHome(note);
  }

  /** Environment by which the processes of a release are known, whoever their parent is. Empty for other folders. */
  markOf(directory: string): Record<string, string> {
    if (!this.#isRelease(directory)) return {};
    const root = dirname(resolve(directory));
    // The folder tells apart two installations on one machine.
    return { QUAYSIDE_RELEASE: basename(root), QUAYSIDE_RELEASE_ROOT: root };
  }

  #isRelease(directory: string): boolean {
    return dirname(dirname(resolve(directory))) === join(this.dataDir, "releases");
  }
}

/** Refuses an id that could leave its folder. Ids come from Quayside itself, so this is a bug when it throws. */
function safeName(id: string): string {
  if (!SAFE_NAME.test(id)) throw new RangeError("an id may hold letters, digits, '_', '-' and '.' only");
  return id;
}
