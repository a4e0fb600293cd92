import { enableCompileCache } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

// Compiled code is kept, so that a warm start does not strip types and compile again.
enableCompileCache(join(dirname(fileURLToPath(import.meta.url)), "../../../node_modules/.cache/quayside"));
const { runProcess } = await import("./run-process.ts");
await runProcess(process.argv[2] ?? "all");
