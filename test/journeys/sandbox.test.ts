import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openApp } from "../support/apps.ts";
import { isMissing } from "../support/components.ts";
import { createDeployer } from "../support/deploying.ts";
import { createRepository, type GitRepository, webApp } from "../support/git-repository.ts";
import { SECRETS, startTestQuayside, type TestQuayside } from "../support/quayside.ts";

/** Tries to read a path and answers what came of it. */
function snoop(path: string): Record<string, string> {
  const app = webApp("unused", 'import { readFileSync } from "node:fs";');
  const read = `let got; try { got = "read: " + readFileSync(${JSON.stringify(path)}, "utf8"); } catch (e) { got = e.code; }`;
  return {
    ...app,
    "server.js": (app["server.js"] ?? "").replace(
      "(req, res) => {",
      `(req, res) => { ${read} return void res.end(got);`,
    ),
  };
}

describe.skipIf(isMissing("bwrap"))("an app of an organization that nobody trusts", () => {
  let quayside: TestQuayside;
  let repository: GitRepository;
  let tenant: string;
  let secretFile: string;

  beforeAll(async () => {
    quayside = await startTestQuayside({ GIT_LOCAL_ROOTS: tmpdir() });
    repository = createRepository();
    tenant = (await quayside.makeKey((await quayside.signUp("tenant")).token)).secret;
    secretFile = join(quayside.dataDir, "secret.txt");
    writeFileSync(secretFile, "top secret", { mode: 0o644 });
  });

  afterAll(async () => {
    await quayside?.stop();
    repository?.remove();
  });

  const answerOf = async (slug: string) => (await openApp(quayside.appsPort, `${slug}.localhost`)).text;

  it("runs in a sandbox that does not show Quayside's files", async () => {
    const app = await createDeployer(quayside, tenant, repository);
    expect(await app.deploy(repository.commit(snoop(secretFile)))).toMatchObject({ status: "deployed", error: null });
    expect(await answerOf(app.slug)).toBe("ENOENT");
  });

  it("sees them, as every process does, once a super admin trusts the organization", async () => {
    const who = await quayside.call("GET", "/api/v1/whoami", { token: tenant });
    const path = `/api/v1/admin/organizations/${who.body.organization.id}/trust`;
    expect((await quayside.call("POST", path, { token: tenant, body: { trusted: true } })).status).toBe(403);
    const trusted = await quayside.call("POST", path, {
      headers: { "x-super-admin-token": SECRETS.SUPER_ADMIN_TOKEN },
      body: { trusted: true },
    });
    expect(trusted.body).toMatchObject({ trusted: true });
    const app = await createDeployer(quayside, tenant, repository);
    expect(await app.deploy(repository.commit(snoop(secretFile)))).toMatchObject({ status: "deployed" });
    expect(await answerOf(app.slug)).toBe("read: top secret");
  });
});
