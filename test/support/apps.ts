import { readFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";

export interface AppReply {
  status: number;
  headers: IncomingMessage["headers"];
  text: string;
}

/** A request through the proxy of deployed apps. */
export function openApp(appsPort: number, hostName: string, path = "/", timeoutMs = 10_000): Promise<AppReply> {
  return new Promise((resolve, reject) => {
    const req = request({ host: "127.0.0.1", port: appsPort, path, headers: { host: hostName }, timeout: timeoutMs });
    req.on("response", (res) => {
      let text = "";
      res.setEncoding("utf8");
      res.on("data", (chunk: string) => {
        text += chunk;
      });
      res.on("end", () => resolve({ status: res.statusCode ?? 0, headers: res.headers, text }));
      res.on("error", reject);
    });
    req.on("timeout", () => req.destroy(new Error("time-out")));
    req.on("error", reject);
    req.end();
  });
}

/** Whether a process runs; a zombie does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    const stat = readStat(pid);
    return stat !== "Z" && stat !== "X";
  } catch {
    return false;
  }
}

/** State letter of a process, as the kernel writes it. */
function readStat(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3);
}
