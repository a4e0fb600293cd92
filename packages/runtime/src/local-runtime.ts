import { rm } from "node:fs/promises";
import type { Runtime } from "@quayside/contracts";
import { createAppProxy } from "./app-proxy.ts";
import { Builder } from "./build.ts";
import { DataLayout } from "./data-layout.ts";
import { GitCommand } from "./git-command.ts";
import { GitSource } from "./git-source.ts";
import { waitUntilHealthy } from "./health-gate.ts";
import { LocalProcesses } from "./local-process.ts";
import { startLogCapture } from "./log-capture.ts";
import { DEFAULT_BUILD_TIMEOUT_MS, DEFAULT_HEALTH_PACE, type LocalRuntimeOptions } from "./options.ts";
import { explainRefusedRepo } from "./repo-address.ts";
import { Sandbox } from "./sandbox.ts";
import { prepareToolchain, type Toolchain } from "./toolchain.ts";

/** Makes the runtime that builds and runs releases on this machine. Nothing is started or written before it is used. */
export function createLocalRuntime(options: LocalRuntimeOptions): Runtime {
  const layout = new DataLayout(options.dataDir);
  const sandbox = new Sandbox(layout);
  const git = new GitCommand(layout);
  const toolchain = remembered(() => prepareToolchain(layout));
  const { gitLocalRoots: localRoots, allowPrivateNetworks } = options;
  const source = new GitSource({ layout, git, localRoots, allowPrivateNetworks });
  const timeoutMs = options.buildTimeoutMs ?? DEFAULT_BUILD_TIMEOUT_MS;
  const builder = new Builder({ layout, sandbox, toolchain, timeoutMs });
  const processes = new LocalProcesses({ layout, sandbox, toolchain });
  const pace = { ...DEFAULT_HEALTH_PACE, ...options.health };
  return {
    canSandbox: () => sandbox.canSandbox(),
    explainRefusedRepo: (repo) => explainRefusedRepo(repo, localRoots),
    fetchCommit: (request, step) => source.fetchCommit(request, step),
    buildRelease: (request, step) => builder.build(request, step),
    startRelease: (request, step) => processes.start(request, step),
    processState: (releaseId, process) => processes.state(releaseId, process),
    waitForExit: (releaseId, process, signal) => processes.waitForExit(releaseId, process, signal),
    stopStrays: (releaseId) => processes.stopStrays(releaseId),
    stopRelease: (process, graceMs) => processes.stop(process, graceMs),
    waitUntilHealthy: (releaseId, process, health, step) =>
      waitUntilHealthy({ port: process.port, health, pace, step, state: () => processes.state(releaseId, process) }),
    captureLogs: (releaseId, from, store) =>
      startLogCapture({ directory: layout.releaseLogs(releaseId), from, store, onWarning: options.onWarning }),
    releaseDirectory: (releaseId) => layout.releaseApp(releaseId),
    async removeRelease(releaseId) {
      await rm(layout.releaseRoot(releaseId), { recursive: true, force: true, maxRetries: 3 });
    },
    async removeProject(projectId) {
      for (const folder of [layout.mirror(projectId), layout.projectHome(projectId)]) {
        await rm(folder, { recursive: true, force: true, maxRetries: 3 });
      }
    },
    proxy: createAppProxy({ host: options.proxyHost, port: options.proxyPort }),
  };
}

/** Does the work once; a failure is not remembered. */
function remembered(work: () => Promise<Toolchain>): () => Promise<Toolchain> {
  let done: Promise<Toolchain> | null = null;
  return () => {
    done ??= work().catch((error: unknown) => {
      done = null;
      throw error;
    });
    return done;
  };
}
