import { createHash } from "node:crypto";
import { chmod, chown, mkdir, readFile, readlink, rm, rmdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { runCommand } from "./command.ts";
import { unless } from "./errors.ts";
import { usableInstallation } from "./installation.ts";
import { choosePlace, createDataFolder, SYSTEM_FOLDER } from "./location.ts";
import { databaseUser, firstClosedFolder, runsAsRoot } from "./os-user.ts";
import { ask, serverPid, start, temporaryFolder } from "./testing/support.ts";

/** The cluster made during the test goes, and the shared folder too when nothing else is in it. */
function removeFromSystemFolder(name: string): void {
  onTestFinished(async () => {
    await rm(join(SYSTEM_FOLDER, name), { recursive: true, force: true });
    await unless(rmdir(SYSTEM_FOLDER), "ENOTEMPTY", "ENOENT");
  });
}

describe("the account that PostgreSQL runs under", () => {
  const missing = { code: 1, stdout: "", stderr: "no such user" };

  test("is created without a login when it is missing", async () => {
    const commands: string[] = [];
    let created = false;
    const user = await databaseUser(async (file, args) => {
      if (file !== "id") commands.push([file, ...args].join(" "));
      if (file === "useradd") created = true;
      if (file === "id" && !created) return missing;
      return { code: 0, stdout: args[0] === "-u" ? "901\n" : "902\n", stderr: "" };
    });
    expect(user).toEqual({ name: "postgres", uid: 901, gid: 902 });
    expect(commands[0]).toBe("groupadd --system postgres");
    expect(commands[1]).toMatch(/^useradd --system --gid postgres .*--shell \/usr\/sbin\/nologin postgres$/);
  });

  test("that cannot be created gives one sentence with the ways out", async () => {
    await expect(databaseUser(async () => missing)).rejects.toThrow(/"postgres" could not be created.*DATABASE_URL/);
  });
});

describe.skipIf(!runsAsRoot())("as root (skipped for other users)", () => {
  test("the server runs under the database user, in a data folder it cannot write to", async () => {
    const dataDir = join(await temporaryFolder(), "data");
    const user = await databaseUser();
    const server = await start(dataDir);
    expect(server).toMatchObject({ location: dataDir, note: null });
    expect((await stat(`/proc/${await serverPid(dataDir)}`)).uid).toBe(user.uid);
    expect(await stat(join(dataDir, "cluster"))).toMatchObject({ uid: user.uid, gid: user.gid, mode: 0o40700 });
    expect(await stat(dataDir)).toMatchObject({ uid: 0, mode: 0o40711 });
  });

  test("below a closed folder the cluster goes to the system folder, and stays there", async () => {
    const closed = await temporaryFolder(0o700);
    const dataDir = join(closed, "data");
    const hash = createHash("sha256").update(dataDir).digest("hex").slice(0, 16);
    removeFromSystemFolder(hash);
    const server = await start(dataDir);
    expect(server.location).toBe(join(SYSTEM_FOLDER, hash));
    expect(server.note).toBe(
      `The database of ${dataDir} lives in ${server.location}, because the system user postgres cannot enter ${closed}.`,
    );
    await ask(server.url, "create table kept as select 42 as answer");
    expect(await readFile(join(dataDir, "postgres-owner.json"), "utf8")).toContain(String(process.pid));
    await server.stop();
    await chmod(closed, 0o755);
    const again = await start(dataDir);
    expect(again.location).toBe(server.location);
    expect(await ask(again.url, "select answer from kept")).toBe(42);
  });

  test("a cluster that has become unreachable is an error, not a new database elsewhere", async () => {
    const folder = await temporaryFolder();
    const dataDir = join(folder, "data");
    await (await start(dataDir)).stop();
    await chmod(folder, 0o700);
    await expect(start(dataDir)).rejects.toThrow(`chmod o+x ${folder}`);
  });

  test("a cluster of an ordinary user runs under that user", async () => {
    const dataDir = await temporaryFolder();
    await (await start(dataDir)).stop();
    const chowned = await runCommand("chown", ["-R", "4711:4711", join(dataDir, "cluster")]);
    expect(chowned.code).toBe(0);
    const server = await start(dataDir);
    expect((await stat(`/proc/${await serverPid(dataDir)}`)).uid).toBe(4711);
    await server.stop();
  });

  test("a strict umask does not close the folders that are made", async () => {
    const base = await temporaryFolder();
    const before = process.umask(0o077);
    onTestFinished(() => {
      process.umask(before);
    });
    const dataDir = await createDataFolder(join(base, "one", "two"));
    expect(await firstClosedFolder(dataDir, await databaseUser())).toBeNull();
  });

  test("a closed data folder is opened only when nothing but the database is in it", async () => {
    const systemFolder = await temporaryFolder();
    const ours = await temporaryFolder(0o700);
    expect(await choosePlace(ours, systemFolder)).toMatchObject({ location: ours, note: null });
    const shared = await temporaryFolder(0o700);
    await writeFile(join(shared, "secrets.json"), "{}");
    expect((await choosePlace(shared, systemFolder)).location).toContain(systemFolder);
    expect((await stat(shared)).mode & 0o777).toBe(0o700);
  });

  test("programs the database user cannot reach are copied once, with their links", async () => {
    const systemFolder = await temporaryFolder();
    const native = join(await temporaryFolder(0o700), "native");
    for (const name of ["bin", "lib", "share"]) await mkdir(join(native, name), { recursive: true, mode: 0o700 });
    for (const name of ["initdb", "postgres"]) await writeFile(join(native, "bin", name), "", { mode: 0o700 });
    await writeFile(join(native, "lib", "libpq.so.5.18"), "", { mode: 0o600 });
    await symlink("libpq.so.5.18", join(native, "lib", "libpq.so.5"));
    const user = await databaseUser();
    const given = { native, version: "0-test" };
    const copies = await Promise.all([1, 2, 3].map(() => usableInstallation(given, user, systemFolder)));
    const copy = join(systemFolder, "postgresql-0-test");
    expect(copies.map((one) => one.native)).toEqual([copy, copy, copy]);
    expect((await stat(join(copy, "bin", "postgres"))).mode & 0o777).toBe(0o755);
    expect((await stat(join(copy, "lib", "libpq.so.5.18"))).mode & 0o777).toBe(0o644);
    expect(await readlink(join(copy, "lib", "libpq.so.5"))).toBe("libpq.so.5.18");
    expect(await usableInstallation({ native: copy, version: "0-test" }, user, "/nowhere")).toMatchObject({
      native: copy,
    });
  });

  test("entering a folder is judged by owner, group or others, whichever applies first", async () => {
    const user = await databaseUser();
    const base = await temporaryFolder();
    const folder = join(base, "folder");
    await mkdir(folder);
    await chown(folder, user.uid, 0);
    await chmod(folder, 0o077);
    expect(await firstClosedFolder(folder, user)).toBe(folder);
    await chown(folder, 0, user.gid);
    await chmod(folder, 0o710);
    expect(await firstClosedFolder(folder, user)).toBeNull();
  });
});
