export { readStats } from "./read-stats.ts";
