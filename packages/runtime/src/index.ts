export { explainRefusedBranch } from "./branch-name.ts";
export { createLocalRuntime } from "./local-runtime.ts";
export type { HealthPace, LocalRuntimeOptions } from "./options.ts";
export { explainRefusedRepo } from "./repo-address.ts";
