export * from "./endpoints.ts";
