import { execFileSync } from "node:child_process";

/**
 * For `describe.skipIf`: true when a program is missing and may be. With `REQUIRE_ALL=1` nothing may be skipped, so
 * the suite runs and fails.
 */
export function isMissing(program: string): boolean {
  try {
    execFileSync("sh", ["-c", 'command -v "$1" >/dev/null', "sh", program]);
    return false;
  } catch {
    if (process.env["REQUIRE_ALL"] === "1") return false;
    process.stderr.write(`SKIPPED: '${program}' is not installed, so its suite does not run.\n`);
    return true;
  }
}
