export { explainRefusedBranch } from "./branch-name.ts";
export { explainRefusedRepo } from "./repo-address.ts";
export { createLocalRuntime } from "./local-runtime.ts";
export type { HealthPace, LocalRuntimeOptions } from "./options.ts";
