import type { Express } from "express";

/** Listens on a free port and tells the parent which. */
export function listen(app: Express): void {
  const server = app.listen(0, "127.0.0.1", () => {
    const address = server.address();
    process.send?.({ port: typeof address === "object" && address ? address.port : 0 });
  });
  process.on("disconnect", () => process.exit(0));
}
