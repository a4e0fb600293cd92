// Installs the dependencies when the lockfile is newer than what is installed, so that `npm start` and `npm test`
// each work alone on a fresh clone. Plain JavaScript: it runs on whichever Node the machine has (18 or later),
// before the project's own pinned Node exists.
import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const MINIMUM_MAJOR = 24;
const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const lockfile = join(root, "package-lock.json");
// npm writes this file at the end of every install, so an interrupted install is repeated.
const installed = join(root, "node_modules", ".package-lock.json");

if (!existsSync(installed) || statSync(lockfile).mtimeMs > statSync(installed).mtimeMs) {
  process.stderr.write("Installing dependencies (once) …\n");
  const npm = process.env.npm_execpath;
  const [command, prefix] = npm ? [process.execPath, [npm]] : ["npm", []];
  // No dependency needs its install script; what does not run cannot do harm.
  const flags = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const result = spawnSync(command, [...prefix, ...flags], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    shell: !npm && process.platform === "win32",
  });
  if (result.status !== 0) {
    process.stderr.write("The dependencies could not be installed; npm's message stands above.\n");
    process.exit(result.status ?? 1);
  }
}
await import("./patch-dependencies.mjs");

// The pinned Node is on npm's PATH for the scripts that follow. Where its package does not exist for the machine, the
// installed Node must do.
const pinned = existsSync(join(root, "node_modules", ".bin", process.platform === "win32" ? "node.cmd" : "node"));
const [major] = process.versions.node.split(".").map(Number);
if (!pinned && major < MINIMUM_MAJOR) {
  process.stderr.write(
    `Quayside needs Node ${MINIMUM_MAJOR} or later, and its pinned Node is not available for ${process.platform}-${process.arch}; ` +
      `this is Node ${process.versions.node}. Install Node ${MINIMUM_MAJOR} and try again.\n`,
  );
  process.exit(1);
}
