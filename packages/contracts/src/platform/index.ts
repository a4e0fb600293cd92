export * from "./environment.ts";
export * from "./errors.ts";
export * from "./health.ts";
export * from "./jobs.ts";
export * from "./principal.ts";
export * from "./rest.ts";
export * from "./text.ts";
