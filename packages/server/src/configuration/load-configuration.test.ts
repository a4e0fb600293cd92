import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseEnv, promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { ConfigurationError, loadConfiguration } from "./load-configuration.ts";

const PRODUCTION = {
  NODE_ENV: "production",
  DATABASE_URL: "postgres://quayside@db.example/quayside",
  JWT_SECRET: "j".repeat(32),
  INTERNAL_API_SECRET: "i".repeat(32),
  SUPER_ADMIN_TOKEN: "s".repeat(32),
  ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("base64"),
};

async function emptyProject(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "quayside-config-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const load = (projectRoot: string, env: Record<string, string | undefined> = {}) =>
  loadConfiguration({ projectRoot, env });

async function faults(env: Record<string, string>): Promise<readonly string[]> {
  const root = await emptyProject();
  try {
    await load(root, env);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    for (const problem of error.problems) expect(error.message).toContain(problem);
    return error.problems;
  }
  throw new Error("The configuration was accepted.");
}

test("an empty environment is a complete development configuration", async () => {
  const root = await emptyProject();
  const { config, dataDir, secretsFile } = await load(root);
  expect(config).toMatchObject({
    NODE_ENV: "development",
    PORT: 4000,
    HOST: "127.0.0.1",
    BASE_URL: "http://localhost:4000",
  });
  expect(config.BOOTSTRAP_ADMIN_USER).toBe("admin");
  expect(config.BOOTSTRAP_GRANT_SUPER_ADMIN).toBe(true);
  expect(dataDir).toBe(join(root, ".quayside"));
  expect(secretsFile).toBe(join(root, ".quayside", "secrets.env"));
});

test("every fault is told at once, by the variable's name", async () => {
  const problems = await faults({
    PORT: "70000",
    DATABASE_URL: "mysql://nope",
    LOG_LEVEL: "loud",
    JWT_SECRET: "short",
    ENCRYPTION_KEY: "not base64",
    PLATFORM_AREAS: "crm,moon",
    BOOTSTRAP_ADMIN_USER: "Not A Name",
  });
  for (const name of ["PORT", "DATABASE_URL", "LOG_LEVEL", "JWT_SECRET", "ENCRYPTION_KEY", "PLATFORM_AREAS"]) {
    expect(problems.filter((problem) => problem.startsWith(name))).toHaveLength(1);
  }
  expect(problems.filter((problem) => problem.startsWith("BOOTSTRAP_ADMIN_USER:"))).toHaveLength(1);
  expect(problems.filter((problem) => problem.startsWith("BOOTSTRAP_ADMIN_PASSWORD: missing"))).toHaveLength(1);
  expect(problems).toHaveLength(8);
});

test("a fault never shows the secret that is at fault", async () => {
  const problems = await faults({
    JWT_SECRET: "tiny-secret",
    ENCRYPTION_KEY: "wrong-key-material",
    BOOTSTRAP_ADMIN_USER: "root",
    BOOTSTRAP_ADMIN_PASSWORD: "seven77",
  });
  expect(problems).toHaveLength(3);
  expect(problems.join("\n")).not.toMatch(/tiny-secret|wrong-key-material|seven77/);
});

test.each([
  ["BOOTSTRAP_ADMIN_USER", "BOOTSTRAP_ADMIN_PASSWORD", "root"],
  ["BOOTSTRAP_ADMIN_PASSWORD", "BOOTSTRAP_ADMIN_USER", "correct horse"],
])("%s without %s stops the start", async (set, missing, value) => {
  expect(await faults({ [set]: value })).toEqual([`${missing}: missing, while ${set} is set; set both or neither`]);
});

test.each([
  ["BOOTSTRAP_ADMIN_USER", { BOOTSTRAP_ADMIN_USER: "No Spaces!", BOOTSTRAP_ADMIN_PASSWORD: "correct horse" }],
  ["BOOTSTRAP_ADMIN_PASSWORD", { BOOTSTRAP_ADMIN_USER: "root", BOOTSTRAP_ADMIN_PASSWORD: "short" }],
  ["BOOTSTRAP_GRANT_SUPER_ADMIN", { BOOTSTRAP_GRANT_SUPER_ADMIN: "yes" }],
])("%s passes the login validators or stops the start", async (name, env) => {
  const problems = await faults(env);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(new RegExp(`^${name}: `));
});

test("production says which secrets and which database it lacks, and writes nothing", async () => {
  const root = await emptyProject();
  await expect(load(root, { NODE_ENV: "production" })).rejects.toMatchObject({
    problems: [
      "JWT_SECRET: required in production",
      "INTERNAL_API_SECRET: required in production",
      "SUPER_ADMIN_TOKEN: required in production",
      "ENCRYPTION_KEY: required in production",
      "DATABASE_URL: required in production",
    ],
  });
  expect(await readdir(root)).toEqual([]);
});

test("production with all that it needs generates nothing but a session secret of its own at every boot", async () => {
  const root = await emptyProject();
  const [first, second] = [await load(root, PRODUCTION), await load(root, PRODUCTION)];
  expect(first.secretsFile).toBeNull();
  expect(first.config.BOOTSTRAP_ADMIN_USER).toBeUndefined();
  expect(first.config.SESSION_SECRET).not.toBe(second.config.SESSION_SECRET);
  expect(first.sessionSecretGenerated).toBe(true);
  expect(await readdir(root)).toEqual([]);
});

test("a given session secret is kept, so that sessions outlive a restart", async () => {
  const loaded = await load(await emptyProject(), { SESSION_SECRET: "x".repeat(32) });
  expect(loaded.config.SESSION_SECRET).toBe("x".repeat(32));
  expect(loaded.sessionSecretGenerated).toBe(false);
});

test("generated secrets are for the owner's eyes only and the same after a restart", async () => {
  const root = await emptyProject();
  const first = await load(root);
  expect((await stat(first.secretsFile ?? "")).mode & 0o777).toBe(0o600);
  const second = await load(root);
  for (const name of [
    "JWT_SECRET",
    "INTERNAL_API_SECRET",
    "SUPER_ADMIN_TOKEN",
    "ENCRYPTION_KEY",
    "BOOTSTRAP_ADMIN_PASSWORD",
  ] as const) {
    expect(first.config[name]).toBeTruthy();
    expect(second.config[name]).toBe(first.config[name]);
  }
  expect(second.databasePassword).toBe(first.databasePassword);
  const other = await load(await emptyProject());
  expect(other.config.JWT_SECRET).not.toBe(first.config.JWT_SECRET);
});

test("values that are given are neither generated nor stored", async () => {
  const root = await emptyProject();
  const { config, secretsFile } = await load(root, {
    JWT_SECRET: "g".repeat(32),
    BOOTSTRAP_ADMIN_USER: "root",
    BOOTSTRAP_ADMIN_PASSWORD: "correct horse",
  });
  expect(config).toMatchObject({
    JWT_SECRET: "g".repeat(32),
    BOOTSTRAP_ADMIN_USER: "root",
    BOOTSTRAP_GRANT_SUPER_ADMIN: false,
  });
  const stored = parseEnv(await readFile(secretsFile ?? "", "utf8"));
  expect(Object.keys(stored)).not.toContain("JWT_SECRET");
  expect(Object.keys(stored).filter((name) => name.startsWith("BOOTSTRAP"))).toEqual([]);
  expect(stored["SUPER_ADMIN_TOKEN"]).toBe(config.SUPER_ADMIN_TOKEN);
});

test("a secret that the operator put into the generated file is used", async () => {
  const root = await emptyProject();
  const { secretsFile } = await load(root);
  const text = await readFile(secretsFile ?? "", "utf8");
  await writeFile(secretsFile ?? "", text.replace(/^JWT_SECRET=.*$/m, `JWT_SECRET=${"o".repeat(32)}`));
  expect((await load(root)).config.JWT_SECRET).toBe("o".repeat(32));
});

test(".env in the project root is read, and the process environment wins", async () => {
  const root = await emptyProject();
  await writeFile(join(root, ".env"), 'PORT=4567\nLOG_LEVEL="warn"\n');
  expect((await load(root, { LOG_LEVEL: "debug" })).config).toMatchObject({ PORT: 4567, LOG_LEVEL: "debug" });
});

test("an empty value means unset, in the environment and in .env", async () => {
  const root = await emptyProject();
  await writeFile(join(root, ".env"), "HOST=\nPORT=4567\n");
  const { config } = await load(root, { PORT: "", DATABASE_URL: "", JWT_SECRET: "", BOOTSTRAP_ADMIN_USER: "" });
  expect(config).toMatchObject({ PORT: 4567, HOST: "127.0.0.1", BOOTSTRAP_ADMIN_USER: "admin" });
  expect(config.DATABASE_URL).toBeUndefined();
});

test("PORT=0 takes a port that is free, and the base URL names it", async () => {
  const { config } = await load(await emptyProject(), { PORT: "0", APPS_PORT: "0" });
  expect(config.PORT).toBeGreaterThan(0);
  expect(config.APPS_PORT).not.toBe(config.PORT);
  expect(config.BASE_URL).toBe(`http://localhost:${config.PORT}`);
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(config.PORT, config.HOST, resolve);
  });
  server.close();
});

test("a base URL loses its last slash", async () => {
  const { config } = await load(await emptyProject(), { BASE_URL: "https://quay.example/" });
  expect(config.BASE_URL).toBe("https://quay.example");
});

test("a data folder that cannot be used is a fault of the configuration, told by name", async () => {
  const root = await emptyProject();
  await writeFile(join(root, "file"), "not a folder");
  await expect(load(root, { DATA_DIR: "file" })).rejects.toThrow(ConfigurationError);
  await expect(load(root, { DATA_DIR: "file" })).rejects.toThrow(/DATA_DIR: /);
});

test("processes that start at once for the first time agree on the secrets", async () => {
  const root = await emptyProject();
  const script = `
    const { loadConfiguration } = await import(${JSON.stringify(new URL("load-configuration.ts", import.meta.url).href)});
    const { config } = await loadConfiguration({ projectRoot: process.argv[1], env: {} });
    process.stdout.write(config.JWT_SECRET);`;
  const run = promisify(execFile);
  const outputs = await Promise.all(
    Array.from({ length: 6 }, () => run(process.execPath, ["--input-type=module", "-e", script, root])),
  );
  expect(new Set(outputs.map(({ stdout }) => stdout)).size).toBe(1);
  expect(outputs[0]?.stdout).toMatch(/^[\w-]{43}$/);
  expect(await readdir(join(root, ".quayside"))).toEqual(["secrets.env"]);
});

test("a proxy range that is none and a variable of a later release are told by name", async () => {
  const env = { TRUSTED_PROXIES: "10.0.0.0/8,zz", REDIS_URL: "redis://localhost", OAUTH_OIDC_CLIENT_ID: "x" };
  const error = await loadConfiguration({ projectRoot: await emptyProject(), env }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConfigurationError);
  expect(String(error)).toContain("TRUSTED_PROXIES: 'zz'");
  expect(String(error)).toContain("REDIS_URL: belongs to a feature");
  expect(String(error)).toContain("OAUTH_OIDC_CLIENT_ID: belongs to a feature");
});
