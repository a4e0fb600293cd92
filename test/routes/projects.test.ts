import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectEnvelope } from "../support/expect-errors.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";

const NO_SUCH_ID = "00000000-0000-4000-8000-000000000000";
const REPO = "https://git.example.com/team/app.git";

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let owner: { token: string };
let stranger: { token: string };

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  sql = connectTo(quayside.databaseUrl);
  [owner, stranger] = await Promise.all([quayside.signUp("owner"), quayside.signUp("stranger")]);
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

const create = (body: unknown, token = owner.token) => quayside.call("POST", "/api/projects", { token, body });
const read = (identifier: string, token = owner.token) =>
  quayside.call("GET", `/api/projects/${identifier}`, { token });
const change = (id: string, body: unknown, token = owner.token) =>
  quayside.call("PATCH", `/api/projects/${id}`, { token, body });
const remove = (id: string, token = owner.token) => quayside.call("DELETE", `/api/projects/${id}`, { token });
const made = async (body: unknown, token = owner.token) => {
  const reply = await create(body, token);
  expect(reply.status, reply.text).toBe(201);
  return reply.body;
};
const slugOf = async (name: string, token = owner.token) => (await made({ name }, token)).slug;

describe("creating a project", () => {
  test("answers 201 with the whole record", async () => {
    const reply = await create({ name: "Shop Front" });
    expect(reply.status).toBe(201);
    expect(reply.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: "Shop Front",
      slug: "shop-front",
      repo: null,
      defaultBranch: "main",
      buildConfig: {},
      appCount: 0,
      url: null,
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: reply.body.createdAt,
    });
  });

  test("keeps repository, branch and build settings as they were sent", async () => {
    const fields = {
      repo: REPO,
      defaultBranch: "trunk",
      buildConfig: {
        root: "apps/web",
        build: "make",
        start: "./run",
        healthcheck: "/up?deep=1",
        healthTimeoutMs: 1_000,
        env: { A: "", B_1: "two\nlines" },
      },
    };
    const { id } = await made({ name: "full", ...fields });
    expect((await read(id)).body).toMatchObject(fields);
    const bare = await made({ name: "no check", buildConfig: { healthcheck: null } });
    expect(bare.buildConfig).toEqual({ healthcheck: null });
  });

  test.each([
    ["no name", {}, "name"],
    ["an empty name", { name: "" }, "name"],
    ["a blank name", { name: " \t " }, "name"],
    ["a name of 256 characters", { name: "n".repeat(256) }, "name"],
    ["a name with a NUL character", { name: "a\u0000b" }, "name"],
    ["a name without a letter or digit", { name: "…!?" }, "name"],
    ["a name in an alphabet that makes no slug", { name: "日本語" }, "name"],
    ["a slug without a letter or digit", { name: "ok", slug: "---" }, "slug"],
    ["an empty slug", { name: "ok", slug: "" }, "slug"],
    ["a slug of 1025 characters", { name: "ok", slug: "s".repeat(1_025) }, "slug"],
    ["a repository that runs a command", { name: "ok", repo: "ext::sh -c touch% /tmp/pwned" }, "repo"],
    ["a repository by a helper program", { name: "ok", repo: "ext::sh" }, "repo"],
    ["a repository that is an option", { name: "ok", repo: "--upload-pack=touch" }, "repo"],
    ["a repository by an unknown protocol", { name: "ok", repo: "ftp://example.com/a.git" }, "repo"],
    ["a relative repository path", { name: "ok", repo: "../elsewhere" }, "repo"],
    ["an empty repository", { name: "ok", repo: "" }, "repo"],
    ["a root outside of the repository", { name: "ok", buildConfig: { root: "a/../../b" } }, "buildConfig.root"],
    ["an absolute root", { name: "ok", buildConfig: { root: "/etc" } }, "buildConfig.root"],
    ["a health check without a slash", { name: "ok", buildConfig: { healthcheck: "up" } }, "buildConfig.healthcheck"],
    [
      "a health time-out of 999 ms",
      { name: "ok", buildConfig: { healthTimeoutMs: 999 } },
      "buildConfig.healthTimeoutMs",
    ],
    ["an unknown build setting", { name: "ok", buildConfig: { shell: "zsh" } }, "buildConfig.shell"],
    ["a variable name with a dash", { name: "ok", buildConfig: { env: { "A-B": "1" } } }, "buildConfig.env.A-B"],
    ["a variable that is a number", { name: "ok", buildConfig: { env: { A: 1 } } }, "buildConfig.env.A"],
    ["a variable with a NUL character", { name: "ok", buildConfig: { env: { A: "\u0000" } } }, "buildConfig.env.A"],
    ["a variable with half a character", { name: "ok", buildConfig: { env: { A: "\udc00" } } }, "buildConfig.env.A"],
    ["an unknown field", { name: "ok", id: NO_SUCH_ID }, "id"],
  ])("refuses %s with 422 and the name of the field", async (_, body, field) => {
    const reply = await create(body);
    expectEnvelope(reply, 422, "validation_failed");
    const fields = reply.body.error.issues.map((issue: { field: string }) => issue.field);
    expect([...new Set(fields)]).toEqual([field]);
  });

  test("needs a credential with the scope write", async () => {
    expectEnvelope(await quayside.call("POST", "/api/projects", { body: { name: "x" } }), 401, "sign_in_required");
    const reader = await quayside.makeKey(owner.token, { scopes: ["read"] });
    expectEnvelope(await create({ name: "x" }, reader.secret), 403, "insufficient_scope", /needs the scope 'write'/);
    const writer = await quayside.makeKey(owner.token, { scopes: ["write"] });
    expect((await create({ name: "x" }, writer.secret)).status).toBe(201);
  });
});

describe("a slug", () => {
  test.each([
    ["Hello, World!", "hello-world"],
    ["  --Trim me--  ", "trim-me"],
    ["Ünïcödé Café", "unicode-cafe"],
    ["v2.0_beta", "v2-0-beta"],
    ["Проект 7", "7"],
  ])("of the name '%s' is '%s'", async (name, slug) => {
    expect(await slugOf(name)).toBe(slug);
  });

  test("in use gets -2, then -3, whether it was made or sent", async () => {
    expect(await slugOf("Again")).toBe("again");
    expect(await slugOf("again!")).toBe("again-2");
    expect((await made({ name: "Other", slug: "AGAIN" })).slug).toBe("again-3");
  });

  test("is free again when its project is deleted", async () => {
    const { id, slug } = await made({ name: "Phoenix" });
    await remove(id);
    expect(await slugOf("Phoenix")).toBe(slug);
  });

  test("fills the first gap", async () => {
    await made({ name: "gap" });
    const { id } = await made({ name: "gap" });
    await made({ name: "gap" });
    await remove(id);
    expect(await slugOf("gap")).toBe("gap-2");
  });

  test("is cut at 255 characters, and its number fits in too", async () => {
    const name = "z".repeat(255);
    expect(await slugOf(name)).toBe(name);
    expect(await slugOf(name)).toBe(`${"z".repeat(253)}-2`);
    expect((await made({ name: "cut", slug: `${"y".repeat(254)}-${"y".repeat(300)}` })).slug).toBe("y".repeat(254));
  });

  test("is distinct for each of many projects of one name that are created at once", async () => {
    const slugs = await Promise.all(Array.from({ length: 12 }, () => slugOf("Rush Hour")));
    const expected = ["rush-hour", ...Array.from({ length: 11 }, (_, i) => `rush-hour-${i + 2}`)];
    expect(slugs.sort()).toEqual(expected.sort());
  });

  test("belongs to one organization, so another can have the same", async () => {
    expect(await slugOf("Common")).toBe("common");
    expect(await slugOf("Common", stranger.token)).toBe("common");
  });
});

describe("reading projects", () => {
  test("works by id, by id in upper case and by slug", async () => {
    const project = await made({ name: "Findable" });
    for (const identifier of [project.id, project.id.toUpperCase(), "findable"]) {
      const reply = await read(identifier);
      expect([reply.status, reply.body]).toEqual([200, project]);
    }
  });

  test("prefers the id where a slug looks like one", async () => {
    const first = await made({ name: "first" });
    const mimic = await made({ name: "mimic", slug: first.id });
    expect(mimic.slug).toBe(first.id);
    expect((await read(first.id)).body.name).toBe("first");
    await remove(first.id);
    expect((await read(first.id)).body.name).toBe("mimic");
  });

  test.each([NO_SUCH_ID, "nothing", "Findable", "%00", "a%00b", "..%2f..", "%F0%9F%9A%A2"])(
    "answers 404 to '%s'",
    async (identifier) => {
      expectEnvelope(await read(identifier), 404, "not_found");
    },
  );

  test("lists the organization's projects, newest first, with appCount", async () => {
    const lister = await quayside.signUp("lister");
    const list = () => quayside.call("GET", "/api/projects", { token: lister.token });
    expect((await list()).body).toEqual({ projects: [] });
    const one = await made({ name: "one", repo: REPO }, lister.token);
    const two = await made({ name: "two" }, lister.token);
    const deployed = await quayside.call("POST", "/api/deployments", {
      token: lister.token,
      body: { projectId: one.id, branch: "main", commitSha: "a".repeat(40) },
    });
    expect(deployed.status).toBe(201);
    const { status, body } = await list();
    expect(status).toBe(200);
    expect(body.projects).toEqual([two, { ...one, appCount: 1, url: `http://one.localhost:${quayside.appsPort}` }]);
  });

  test("needs a credential", async () => {
    expectEnvelope(await quayside.call("GET", "/api/projects"), 401, "sign_in_required");
    expectEnvelope(await quayside.call("GET", "/api/projects/x"), 401, "sign_in_required");
  });
});

describe("changing a project", () => {
  test("answers 200 with the changed record and leaves the rest", async () => {
    const before = await made({ name: "Before", repo: REPO, buildConfig: { build: "make" } });
    const reply = await change(before.id, { name: "After", slug: "after", defaultBranch: "next" });
    expect(reply.status).toBe(200);
    const { updatedAt } = reply.body;
    expect(reply.body).toEqual({ ...before, name: "After", slug: "after", defaultBranch: "next", updatedAt });
    expect(Date.parse(updatedAt)).toBeGreaterThanOrEqual(Date.parse(before.updatedAt));
    const cleared = await change(before.id, { repo: null, buildConfig: {} });
    expect(cleared.body).toMatchObject({ repo: null, buildConfig: {}, name: "After" });
    expect((await change(before.id, {})).status).toBe(200);
  });

  test("answers 409 to a slug in use", async () => {
    await made({ name: "occupied" });
    const { id } = await made({ name: "mover" });
    expectEnvelope(await change(id, { slug: "occupied" }), 409, "conflict", /'occupied' is in use/);
    expect((await change(id, { slug: "mover" })).status).toBe(200);
  });

  test.each([
    ["an empty name", { name: "" }],
    ["null as name", { name: null }],
    ["a slug in upper case", { slug: "Mover" }],
    ["a slug with two hyphens", { slug: "a--b" }],
    ["a slug of 256 characters", { slug: "s".repeat(256) }],
    ["a repository that runs a command", { repo: "ext::sh -c id" }],
    ["a build setting of a wrong type", { buildConfig: { build: 7 } }],
    ["an unknown field", { appCount: 7 }],
  ])("refuses %s with 422", async (_, body) => {
    const { id } = await made({ name: "strict" });
    expectEnvelope(await change(id, body), 422, "validation_failed");
  });

  test("refuses an id in the body with 400", async () => {
    const { id } = await made({ name: "fixed" });
    expectEnvelope(
      await change(id, { id }),
      400,
      "invalid_request",
      "'id' is part of the path; leave it out elsewhere.",
    );
  });

  test.each([NO_SUCH_ID, "a-slug"])("answers 404 to the id %s", async (id) => {
    expectEnvelope(await change(id, { name: "x" }), 404, "not_found");
    expectEnvelope(await remove(id), 404, "not_found");
  });

  test("needs a credential with the scope write", async () => {
    const { id } = await made({ name: "guarded" });
    const reader = await quayside.makeKey(owner.token, { scopes: ["read"] });
    expectEnvelope(await change(id, { name: "x" }, reader.secret), 403, "insufficient_scope");
    expectEnvelope(await remove(id, reader.secret), 403, "insufficient_scope");
    expect((await read(id, reader.secret)).status).toBe(200);
    expectEnvelope(await quayside.call("PATCH", `/api/projects/${id}`, { body: {} }), 401, "sign_in_required");
    expectEnvelope(await quayside.call("DELETE", `/api/projects/${id}`), 401, "sign_in_required");
  });
});

describe("deleting a project", () => {
  test("answers success, then the project is gone for every route", async () => {
    const { id, slug } = await made({ name: "Doomed" });
    const reply = await remove(id);
    expect([reply.status, reply.body]).toEqual([200, { success: true }]);
    for (const gone of [read(id), read(slug), change(id, { name: "x" }), remove(id)]) {
      expectEnvelope(await gone, 404, "not_found");
    }
    const { body } = await quayside.call("GET", "/api/projects", { token: owner.token });
    expect(body.projects.map((project: { id: string }) => project.id)).not.toContain(id);
  });

  test("keeps the row, marked as deleted", async () => {
    const { id } = await made({ name: "Kept" });
    await remove(id);
    const rows = await sql`SELECT deleted_at IS NOT NULL AS deleted FROM projects WHERE id = ${id}`;
    expect(rows.map((row) => row.deleted)).toEqual([true]);
  });

  test("cancels its waiting deployments", async () => {
    const { id } = await made({ name: "Waiting", repo: REPO });
    const body = { projectId: id, branch: "main", commitSha: "b".repeat(40) };
    const { body: deployment } = await quayside.call("POST", "/api/deployments", { token: owner.token, body });
    await remove(id);
    const reply = await quayside.call("GET", `/api/deployments/${deployment.id}`, { token: owner.token });
    expect(reply.body).toMatchObject({ status: "cancelled", error: "The project was deleted.", url: null });
  });
});

describe("another organization's project", () => {
  test("is 404 for every route, by id and by slug, and stays as it is", async () => {
    const project = await made({ name: "Private" });
    for (const reply of [
      read(project.id, stranger.token),
      read("private", stranger.token),
      change(project.id, { name: "stolen" }, stranger.token),
      remove(project.id, stranger.token),
    ]) {
      expectEnvelope(await reply, 404, "not_found");
    }
    expect((await read(project.id)).body).toEqual(project);
  });
});
