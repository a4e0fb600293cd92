import type { IncomingMessage } from "node:http";
import type { Context } from "@quayside/core";
import { checkDatabase, secretsEqual } from "@quayside/core";
import express, { type Router } from "express";
import type { Metrics } from "./metrics.ts";

export interface ProbeOptions {
  ctx: Context;
  metrics: Metrics;
  isStopping(): boolean;
  internalSecret: string;
}

/** `/livez`, `/readyz`, and `/metrics` for loopback or with the internal secret. */
export function createProbes(options: ProbeOptions): Router {
  const router = express.Router({ caseSensitive: true });
  router.get("/livez", (_req, res) => void res.set("Cache-Control", "no-store").json({ status: "ok" }));
  router.get("/readyz", async (_req, res) => {
    const { connected } = options.ctx.broker;
    const db = await checkDatabase(options.ctx);
    const stopping = options.isStopping();
    const ready = db === "up" && connected && !stopping;
    res.set("Cache-Control", "no-store").status(ready ? 200 : 503);
    res.json({ status: ready ? "ready" : stopping ? "stopping" : "not ready", db, broker: connected ? "up" : "down" });
  });
  router.get("/metrics", async (req, res) => {
    if (!mayReadMetrics(req, options.internalSecret)) {
      res
        .status(403)
        .json({ error: "Metrics are for loopback, or with the header X-Internal-Secret.", code: "forbidden" });
      return;
    }
    res.type(options.metrics.registry.contentType).send(await options.metrics.registry.metrics());
  });
  return router;
}

/** A request that a proxy on this machine passed on is not local. */
function mayReadMetrics(req: IncomingMessage, internalSecret: string): boolean {
  const secret = req.headers["x-internal-secret"];
  if (typeof secret === "string") return secretsEqual(secret, internalSecret);
  const address = req.socket.remoteAddress ?? "";
  const local = address === "::1" || /^(::ffff:)?127\./.test(address);
  return local && req.headers["x-forwarded-for"] === undefined && req.headers.forwarded === undefined;
}
