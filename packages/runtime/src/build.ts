import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type BuildRequest, type StepContext, StepFailure } from "@quayside/contracts";
import { childEnv } from "./child-env.ts";
import { type Command, runCommand } from "./command-runner.ts";
import type { DataLayout } from "./data-layout.ts";
import { planBuild } from "./package-plan.ts";
import { OUTER_ENV, type Sandbox } from "./sandbox.ts";
import type { Toolchain } from "./toolchain.ts";

// Build tools are often devDependencies, whatever the owner's NODE_ENV says.
const INSTALL_FLAGS = ["--include=dev", "--no-audit", "--no-fund"];

export interface BuilderOptions {
  layout: DataLayout;
  sandbox: Sandbox;
  toolchain(): Promise<Toolchain>;
  /** Limit of one command, in milliseconds. */
  timeoutMs: number;
}

/** Installs and builds checked-out releases. */
export class Builder {
  readonly #options: BuilderOptions;

  constructor(options: BuilderOptions) {
    this.#options = options;
  }

  /** Answers the command that starts the app. Throws StepFailure `build` with the command that failed and how. */
  async build(request: BuildRequest, step: StepContext): Promise<{ command: string }> {
    step.signal.throwIfAborted();
    const plan = await planBuild(request.directory, request.settings);
    const commands: { shown: string; argv: string[] }[] = [];
    if (plan.install !== null) {
      const [word = "ci"] = plan.install;
      commands.push({ shown: `npm ${word}`, argv: ["npm", word, ...INSTALL_FLAGS] });
    }
    if (plan.build !== null) commands.push({ shown: plan.build, argv: ["/bin/sh", "-c", plan.build] });
    if (commands.length > 0) await this.#runAll(request, plan.folder, commands, step);
    return { command: plan.start };
  }

  async #runAll(
    request: BuildRequest,
    folder: string,
    commands: { shown: string; argv: string[] }[],
    step: StepContext,
  ) {
    const toolchain = await this.#options.toolchain();
    if (!toolchain.hasNpm && commands.some(({ argv }) => argv[0] === "npm")) {
      throw new StepFailure("build", "npm was not found on this machine; it is needed to install dependencies");
    }
    const home = await this.#options.layout.homeOf(request.directory);
    await mkdir(home, { recursive: true });
    const env = this.#environment(request, folder, toolchain, home);
    for (const { shown, argv } of commands) {
      step.log({ at: new Date(), stream: "system", line: `$ ${shown}` });
      const writable = [request.directory, home];
      const command = request.sandboxed
        ? await this.#sandboxed(request, { argv, env, cwd: folder, writable, readable: toolchain.folders })
        : direct(argv, env, folder);
      await this.#runOne(shown, command, step);
    }
  }

  #environment(request: BuildRequest, folder: string, toolchain: Toolchain, home: string): Record<string, string> {
    try {
      return childEnv({
        path: [...toolchain.path.slice(0, 1), join(folder, "node_modules", ".bin"), ...toolchain.path.slice(1)],
        home,
        sandboxed: request.sandboxed,
        defaults: { CI: "true", npm_config_cache: join(home, ".npm") },
        owner: request.env,
        fixed: this.#options.layout.markOf(request.directory),
      });
    } catch (error) {
      throw new StepFailure("build", error instanceof Error ? error.message : "the environment cannot be set");
    }
  }

  async #sandboxed(request: BuildRequest, command: Parameters<Sandbox["enter"]>[0]): Promise<Command> {
    if (!(await this.#options.sandbox.canSandbox())) {
      throw new StepFailure(
        "build",
        "this machine cannot give the build a private root (bwrap is missing or not allowed)",
      );
    }
    const { argv, argsFd } = await this.#options.sandbox.enter(command);
    const [file = "bwrap", ...args] = argv;
    return { file, args, env: { ...OUTER_ENV, ...this.#options.layout.markOf(request.directory) }, cwd: "/", argsFd };
  }

  async #runOne(shown: string, command: Command, step: StepContext): Promise<void> {
    const timeoutMs = this.#options.timeoutMs;
    const result = await runCommand(command, {
      signal: step.signal,
      timeoutMs,
      onLine: (stream, line) => step.log({ at: new Date(), stream, line }),
    });
    if (result.timedOut) {
      throw new StepFailure("build", `\`${shown}\` did not end within ${timeoutMs / 1000} s and was stopped`);
    }
    if (result.exitCode === 0) return;
    const how = result.exitCode === null ? `was ended by ${result.signal}` : `ended with code ${result.exitCode}`;
    throw new StepFailure("build", `\`${shown}\` ${how}; its output is in the build log`);
  }
}

function direct(argv: readonly string[], env: Record<string, string>, cwd: string): Command {
  const [file = "", ...args] = argv;
  return { file, args, env, cwd };
}
