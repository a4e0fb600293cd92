export * from "./deployments.ts";
export * from "./projects.ts";
export * from "./runtime.ts";
