export { commonHandlers, hostHandlers, RECURRING, webhookHandlers } from "./handlers.ts";
export { ProcessRegistry } from "./platform/process-registry.ts";
export { startWorkerPool, type WorkerPool } from "./platform/worker-pool.ts";
