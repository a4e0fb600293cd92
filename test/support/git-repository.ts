import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface GitRepository {
  path: string;
  /** Writes the files, commits everything and returns the commit's id. */
  commit(files: Record<string, string>): string;
  git(...args: string[]): string;
  remove(): void;
}

/** A real git repository with a branch `main` in a temporary folder. */
export function createRepository(): GitRepository {
  const path = mkdtempSync(join(tmpdir(), "quayside-repo-"));
  const identity = [
    "-c",
    "user.name=Test",
    "-c",
    "user.email=test@example.com",
    "-c",
    "commit.gpgsign=false",
    "-c",
    "core.fsync=none",
  ];
  const git = (...args: string[]) =>
    execFileSync("git", [...identity, ...args], {
      cwd: path,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  git("init", "--quiet", "--initial-branch=main");
  return {
    path,
    git,
    commit(files) {
      for (const [name, content] of Object.entries(files)) {
        mkdirSync(dirname(join(path, name)), { recursive: true });
        writeFileSync(join(path, name), content);
      }
      git("add", "--all");
      git("commit", "--quiet", "--allow-empty", "-m", "change");
      return git("rev-parse", "HEAD");
    },
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** An app that answers `text`, prints its requests, and ends on SIGTERM after its open requests. */
export function webApp(text: string, more = ""): Record<string, string> {
  return {
    "package.json": JSON.stringify({ name: "app", type: "module", scripts: { start: "node server.js" } }),
    "server.js": `import { createServer } from "node:http";
${more}
const server = createServer((req, res) => {
  console.log(req.method + " " + req.url);
  if (req.url === "/slow") return void setTimeout(() => res.end(${JSON.stringify(text)}), 1000);
  if (req.url === "/crash") process.exit(3);
  if (req.url === "/pid") return void res.end(String(process.pid));
  res.end(${JSON.stringify(text)});
});
server.listen(Number(process.env.PORT), process.env.HOST, () => console.log("listening"));
process.on("SIGTERM", () => { server.close(() => process.exit(0)); server.closeIdleConnections(); });
`,
  };
}
