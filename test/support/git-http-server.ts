import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { basename, dirname } from "node:path";

export interface GitHttpServer {
  /** Address of the repository, without credentials. */
  url: string;
  close(): Promise<void>;
}

/** Serves a repository over HTTP by git's own CGI, to who knows the name and password. */
export async function serveRepository(path: string, credentials: string): Promise<GitHttpServer> {
  const expected = `Basic ${Buffer.from(credentials).toString("base64")}`;
  const server = createServer((req, res) => {
    if (req.headers.authorization !== expected) {
      res.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end();
      return;
    }
    const url = new URL(req.url ?? "/", "http://git");
    const cgi = spawn("git", ["http-backend"], {
      env: {
        PATH: process.env["PATH"] ?? "",
        GIT_PROJECT_ROOT: dirname(path),
        GIT_HTTP_EXPORT_ALL: "1",
        GIT_CONFIG_COUNT: "1",
        GIT_CONFIG_KEY_0: "safe.directory",
        GIT_CONFIG_VALUE_0: "*",
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        REQUEST_METHOD: req.method ?? "GET",
        CONTENT_TYPE: req.headers["content-type"] ?? "",
        HTTP_CONTENT_ENCODING: req.headers["content-encoding"] ?? "",
        HTTP_GIT_PROTOCOL: String(req.headers["git-protocol"] ?? ""),
      },
      stdio: ["pipe", "pipe", "ignore"],
    });
    req.pipe(cgi.stdin);
    const chunks: Buffer[] = [];
    cgi.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    cgi.on("close", () => {
      const output = Buffer.concat(chunks);
      const end = output.indexOf("\r\n\r\n");
      for (const line of output.subarray(0, end).toString().split("\r\n")) {
        const [name = "", value = ""] = line.split(/: (.*)/);
        if (name.toLowerCase() === "status") res.statusCode = Number.parseInt(value, 10);
        else if (name !== "") res.setHeader(name, value);
      }
      res.end(output.subarray(end + 4));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/${basename(path)}/.git`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
