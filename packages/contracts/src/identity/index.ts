export * from "./api-keys.ts";
export * from "./login.ts";
export * from "./users.ts";
