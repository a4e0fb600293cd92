import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openApp } from "../support/apps.ts";
import { createDeployer } from "../support/deploying.ts";
import { type GitHttpServer, serveRepository } from "../support/git-http-server.ts";
import { createRepository, type GitRepository, webApp } from "../support/git-repository.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";

const PASSWORD = "tok-9f8e7d6c5b4a";

describe("a repository that needs a password", () => {
  let quayside: TestQuayside;
  let repository: GitRepository;
  let server: GitHttpServer;
  let sha: string;

  beforeAll(async () => {
    quayside = await startTestQuayside();
    repository = createRepository();
    sha = repository.commit(webApp("private"));
    server = await serveRepository(repository.path, `deployer:${PASSWORD}`);
  });

  afterAll(async () => {
    await quayside?.stop();
    await server?.close();
    repository?.remove();
  });

  const withPassword = (password: string) => server.url.replace("http://", `http://deployer:${password}@`);

  it("is fetched with the password of its address, which nobody is shown again", async () => {
    const token = quayside.adminToken;
    const app = await createDeployer(quayside, token, { path: withPassword(PASSWORD) });
    const record = await app.deploy(sha);
    expect(record).toMatchObject({ status: "deployed", resolvedBuildConfig: { repo: server.url } });
    expect((await openApp(quayside.appsPort, `${app.slug}.localhost`)).text).toBe("private");
    const shown = [
      await quayside.call("GET", `/api/projects/${app.projectId}`, { token }),
      await quayside.call("GET", "/api/projects", { token }),
      await quayside.call("GET", "/api/deployments", { token }),
    ].map(({ text }) => text);
    expect(shown.join()).toContain(server.url);
    expect(shown.join() + (await app.logs(record.id))).not.toContain(PASSWORD);
  });

  it("has its password sealed in the database", async () => {
    const app = await createDeployer(quayside, quayside.adminToken, { path: withPassword(PASSWORD) });
    const sql = postgres(quayside.databaseUrl, { max: 1 });
    try {
      const [row] =
        await sql`SELECT projects::text AS text, repo, repo_credentials FROM projects WHERE id = ${app.projectId}`;
      expect(row?.["repo"]).toBe(server.url);
      expect(row?.["repo_credentials"]).toBeInstanceOf(Buffer);
      expect(row?.["text"]).not.toContain(PASSWORD);
      expect(row?.["text"]).not.toContain(Buffer.from(PASSWORD).toString("hex"));
    } finally {
      await sql.end();
    }
  });

  it("fails with a helpful message that leaks nothing when the password is wrong", async () => {
    const app = await createDeployer(quayside, quayside.adminToken, { path: withPassword("wrong-password") });
    const record = await app.deploy(sha);
    expect(record.status).toBe("failed");
    expect(record.error).toContain(`127.0.0.1`);
    expect(record.error + (await app.logs(record.id))).not.toContain("wrong-password");
  });
});
