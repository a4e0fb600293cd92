export * from "./api-keys.ts";
export * from "./entitlements.ts";
export * from "./login.ts";
export * from "./payments.ts";
export * from "./usage.ts";
export * from "./users.ts";
