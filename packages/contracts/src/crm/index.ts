export * from "./attributes.ts";
export * from "./campaigns.ts";
export * from "./companies.ts";
export * from "./duplicates.ts";
export * from "./pages.ts";
export * from "./people.ts";
export * from "./timeline.ts";
