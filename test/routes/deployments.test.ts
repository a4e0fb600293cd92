import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectPlain } from "../support/expect-errors.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";

const NO_SUCH_ID = "00000000-0000-4000-8000-000000000000";
const REPO = "https://git.example.com/team/app.git";
const SHA = "0123456789abcdef0123456789abcdef01234567";

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let owner: { token: string };
let stranger: { token: string };
let projectId: string;

beforeAll(async () => {
  // No worker runs here: deployments stay queued, and the routes show what the database holds.
  quayside = await startTestQuayside({}, "api");
  sql = connectTo(quayside.databaseUrl);
  [owner, stranger] = await Promise.all([quayside.signUp("owner"), quayside.signUp("stranger")]);
  projectId = await makeProject({ name: "app", repo: REPO });
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

async function makeProject(body: Record<string, unknown>): Promise<string> {
  const reply = await quayside.call("POST", "/api/projects", { token: owner.token, body });
  expect(reply.status).toBe(201);
  return reply.body.id;
}

const deploy = (fields: Record<string, unknown> = {}, token = owner.token) =>
  quayside.call("POST", "/api/deployments", {
    token,
    body: { projectId, branch: "main", commitSha: SHA, ...fields },
  });
const read = (path: string, token = owner.token) => quayside.call("GET", `/api/deployments${path}`, { token });
const setStatus = (id: string, body: unknown, token = owner.token) =>
  quayside.call("PATCH", `/api/deployments/${id}`, { token, body });

describe("deploying a commit", () => {
  test("answers 201 with the queued deployment", async () => {
    const reply = await deploy({ commitSha: SHA.toUpperCase() });
    expect(reply.status).toBe(201);
    expect(reply.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      projectId,
      status: "queued",
      branch: "main",
      commitSha: SHA,
      resolvedBuildConfig: { repo: REPO },
      error: null,
      url: `http://app.localhost:${quayside.appsPort}`,
      createdAt: expect.stringMatching(/Z$/),
      startedAt: null,
      finishedAt: null,
    });
    expect((await read(`/${reply.body.id}`)).body).toEqual(reply.body);
  });

  test("puts the row, its first event and its job into one transaction", async () => {
    const { id } = (await deploy()).body;
    const events = await sql`SELECT status FROM deployment_events WHERE deployment_id = ${id}`;
    const jobs = await sql`SELECT task_identifier AS name FROM graphile_worker.jobs WHERE key = ${`deployment:${id}`}`;
    expect(events.map((row) => row.status)).toEqual(["queued"]);
    expect(jobs.map((row) => row.name)).toEqual(["hosting.deploy"]);
  });

  test("never shows the password of a repository address", async () => {
    const repo = "https://bot:hunter2@git.example.com/app.git";
    const reply = await deploy({ projectId: await makeProject({ name: "secret repo", repo }) });
    expect(reply.body.resolvedBuildConfig.repo).toMatch(/git\.example\.com\/app\.git$/);
    expect(reply.text).not.toContain("hunter2");
  });

  test.each([
    [{ slug: "local", sshHost: "anything", sshUser: "deploy" }],
    [{ sshHost: "local", sshUser: "deploy" }],
    [{ sshHost: "localhost", sshUser: "deploy" }],
  ])("takes %j as this machine", async (targetHost) => {
    expect((await deploy({ targetHost })).status).toBe(201);
  });

  test.each([
    ["no project", { projectId: undefined }, /'projectId' is not valid/],
    ["a project id that is no uuid", { projectId: "app" }, /'projectId' is not valid/],
    ["no branch", { branch: undefined }, /'branch' is not valid/],
    ["an empty branch", { branch: "" }, /'branch' is not valid/],
    ["a branch of 251 characters", { branch: "b".repeat(251) }, /'branch' is not valid/],
    ["a branch that is an option", { branch: "--upload-pack=x" }, "a branch name cannot start with '-'"],
    ["a branch with a space", { branch: "main; id" }, /a branch name cannot contain spaces/],
    ["a branch with '..'", { branch: "a..b" }, "a branch name cannot contain '..' or '@{'"],
    ["a branch with a NUL character", { branch: "a\u0000" }, /'branch' is not valid/],
    ["no commit", { commitSha: undefined }, /'commitSha' is not valid/],
    ["a commit of 6 digits", { commitSha: "abcdef" }, /'commitSha' is not valid/],
    ["a commit of 65 digits", { commitSha: "a".repeat(65) }, /'commitSha' is not valid/],
    ["a commit that is a name", { commitSha: "HEAD~1" }, /'commitSha' is not valid/],
    ["a host without a user", { targetHost: { sshHost: "local" } }, /'targetHost.sshUser' is not valid/],
    ["a host that is an option", { targetHost: { sshHost: "-oProxyCommand=x", sshUser: "x" } }, /begin with '-'/],
    [
      "a host outside of the fleet",
      { targetHost: { sshHost: "10.0.0.1", sshUser: "x" } },
      /'10.0.0.1' is not in the fleet/,
    ],
    [
      "a host user with half a character",
      { targetHost: { slug: "local", sshHost: "x", sshUser: "\ud800" } },
      /'targetHost.sshUser' is not valid/,
    ],
    ["an unknown field", { force: true }, /'force' is not valid/],
  ])("refuses %s with 400", async (_, fields, message) => {
    expectPlain(await deploy(fields), 400, message);
  });

  test.each([
    ["7", "abcdef0"],
    ["64", "a".repeat(64)],
  ])("takes a commit of %s digits", async (_, commitSha) => {
    expect((await deploy({ commitSha })).status).toBe(201);
  });

  test("answers 422 that says what to set when the project has no repository", async () => {
    const id = await makeProject({ name: "empty" });
    expectPlain(
      await deploy({ projectId: id }),
      422,
      `Project 'empty' has no repository: set its 'repo' with PATCH /api/projects/${id}.`,
    );
  });

  test("answers 404 to a project that is unknown, deleted or another organization's", async () => {
    const deleted = await makeProject({ name: "deleted", repo: REPO });
    await quayside.call("DELETE", `/api/projects/${deleted}`, { token: owner.token });
    expectPlain(await deploy({ projectId: NO_SUCH_ID }), 404, `No project has the id ${NO_SUCH_ID}.`);
    expectPlain(await deploy({ projectId: deleted }), 404, `No project has the id ${deleted}.`);
    expectPlain(await deploy({}, stranger.token), 404, `No project has the id ${projectId}.`);
  });

  test("needs a credential with the scope write", async () => {
    expectPlain(await quayside.call("POST", "/api/deployments", { body: {} }), 401, /^Sign in required/);
    const reader = await quayside.makeKey(owner.token, { scopes: ["read"] });
    expectPlain(await deploy({}, reader.secret), 403, /needs the scope 'write'/);
  });

  test("gives a second organization's app of the same slug a host name of its own", async () => {
    const body = { name: "app", repo: REPO };
    const foreign = await quayside.call("POST", "/api/projects", { token: stranger.token, body });
    const reply = await deploy({ projectId: foreign.body.id }, stranger.token);
    expect(reply.body.url).toBe(`http://app-stranger.localhost:${quayside.appsPort}`);
  });
});

describe("reading deployments", () => {
  test("lists newest first, of one project when asked", async () => {
    const one = await makeProject({ name: "list one", repo: REPO });
    const two = await makeProject({ name: "list two", repo: REPO });
    const first = (await deploy({ projectId: one })).body;
    const second = (await deploy({ projectId: two })).body;
    const third = (await deploy({ projectId: one })).body;
    const ids = async (query: string) => (await read(query)).body.map((row: { id: string }) => row.id);
    expect(await ids("?limit=3")).toEqual([third.id, second.id, first.id]);
    const ofOne = await read(`?projectId=${one}`);
    expect([ofOne.status, ofOne.body]).toEqual([200, [third, first]]);
    expect(await ids(`?projectId=${one.toUpperCase()}&limit=1`)).toEqual([third.id]);
    expect(await ids(`?projectId=${NO_SUCH_ID}`)).toEqual([]);
  });

  test.each(["limit=0", "limit=201", "limit=x", "limit=1&limit=2", "projectId=app", "projectId=%00", "colour=red"])(
    "refuses ?%s with 400",
    async (query) => {
      expectPlain(await read(`?${query}`), 400, new RegExp(`'${query.split("=")[0]}' is not valid`));
    },
  );

  test.each(["limit=1", "limit=200"])("takes ?%s", async (query) => {
    expect((await read(`?${query}`)).status).toBe(200);
  });

  test.each([NO_SUCH_ID, "upload", "not-a-uuid", "%00"])("answers 404 that names the id %s", async (id) => {
    const reply = await read(`/${id}`);
    expectPlain(reply, 404);
    if (id !== "%00") expect(reply.body.error).toContain(id);
  });

  test("of another organization answers 404 on every route, and an empty list", async () => {
    const { id } = (await deploy()).body;
    expectPlain(await read(`/${id}`, stranger.token), 404, `Deployment ${id} not found.`);
    expectPlain(await setStatus(id, { status: "failed" }, stranger.token), 404, `Deployment ${id} not found.`);
    expectPlain(await read(`/${id}/logs`, stranger.token), 404, `Deployment ${id} not found.`);
    expectPlain(await read(`/${id}/stream`, stranger.token), 404, `Deployment ${id} not found.`);
    expect((await read(`?projectId=${projectId}`, stranger.token)).body).toEqual([]);
    expect((await read(`/${id}`)).body.status).toBe("queued");
  });

  test("needs a credential", async () => {
    for (const path of ["", `/${NO_SUCH_ID}`, `/${NO_SUCH_ID}/logs`, `/${NO_SUCH_ID}/stream`]) {
      expectPlain(await quayside.call("GET", `/api/deployments${path}`), 401, /^Sign in required/);
    }
  });
});

describe("setting a deployment's status", () => {
  test.each(["building", "deployed", "paused by Ann", "s".repeat(64), "ünïcode ⚓"])(
    "stores '%s' as it was sent and announces it",
    async (status) => {
      const { id } = (await deploy()).body;
      const reply = await setStatus(id, { status });
      expect([reply.status, reply.body.id, reply.body.status]).toEqual([200, id, status]);
      const events = await sql`SELECT status, message FROM deployment_events WHERE deployment_id = ${id} ORDER BY id`;
      expect(events.at(-1)).toEqual({ status, message: `Status set to '${status}'.` });
    },
  );

  test("to cancelled cancels a waiting deployment for good", async () => {
    const { id } = (await deploy()).body;
    const reply = await setStatus(id, { status: "cancelled" });
    expect(reply.body).toMatchObject({ status: "cancelled", finishedAt: expect.stringMatching(/Z$/) });
    const [row] = await sql`SELECT phase FROM deployments WHERE id = ${id}`;
    expect(row?.phase).toBe("cancelled");
  });

  test.each([
    ["no status", {}],
    ["an empty status", { status: "" }],
    ["a status of 65 characters", { status: "s".repeat(65) }],
    ["a number", { status: 7 }],
    ["null", { status: null }],
    ["a NUL character", { status: "\u0000" }],
    ["half a character", { status: "\ud800" }],
  ])("refuses %s with 400", async (_, body) => {
    const { id } = (await deploy()).body;
    expectPlain(await setStatus(id, body), 400, /'status' is not valid/);
    expect((await read(`/${id}`)).body.status).toBe("queued");
  });

  test("answers 404, 401 and 403 as the other routes do", async () => {
    const { id } = (await deploy()).body;
    const reader = await quayside.makeKey(owner.token, { scopes: ["read"] });
    expectPlain(await setStatus(NO_SUCH_ID, { status: "x" }), 404, `Deployment ${NO_SUCH_ID} not found.`);
    expectPlain(await quayside.call("PATCH", `/api/deployments/${id}`, { body: { status: "x" } }), 401);
    expectPlain(await setStatus(id, { status: "x" }, reader.secret), 403, /needs the scope 'write'/);
  });
});

describe("the logs of a deployment", () => {
  const store = (id: string, component: string, ago: string, line: string) => sql`
    INSERT INTO deployment_log_lines (deployment_id, component, stream, at, line)
    VALUES (${id}, ${component}, 'stdout', now() - ${ago}::interval, ${line})`;
  const lines = async (path: string) => {
    const reply = await read(path);
    expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
    return reply.text.split("\n").slice(0, -1);
  };

  test("are text lines of the last 10 minutes, of one component when asked", async () => {
    const { id } = (await deploy()).body;
    expect(await lines(`/${id}/logs`)).toEqual([]);
    await store(id, "web", "2 hours", "old");
    await store(id, "web", "9 minutes", "recent ⚓");
    await store(id, "worker", "1 minute", "other");
    const time = String.raw`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z`;
    expect(await lines(`/${id}/logs`)).toEqual([
      expect.stringMatching(new RegExp(`^${time} web recent ⚓$`)),
      expect.stringMatching(new RegExp(`^${time} worker other$`)),
    ]);
    const count = async (query: string) => (await lines(`/${id}/logs?${query}`)).length;
    expect(await count("component=worker")).toBe(1);
    expect(await count("since=90s")).toBe(1);
    expect(await count("since=3h")).toBe(3);
    expect(await count("since=1d&component=web")).toBe(2);
    expect(await count("since=2020-01-01T00:00:00Z&follow=0")).toBe(3);
    expect(await count("since=999999999d")).toBe(3);
  });

  test("are server-sent events with ids for who accepts them", async () => {
    const { id } = (await deploy()).body;
    await store(id, "web", "1 minute", "one");
    const reply = await quayside.call("GET", `/api/deployments/${id}/logs`, {
      token: owner.token,
      headers: { accept: "text/event-stream" },
    });
    expect(reply.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    const event = /^id: (\d+)\nevent: log\ndata: (.*)$/m.exec(reply.text);
    expect(JSON.parse(event?.[2] ?? "null")).toEqual({
      at: expect.stringMatching(/Z$/),
      component: "web",
      stream: "stdout",
      line: "one",
    });
    const resumed = await quayside.call("GET", `/api/deployments/${id}/logs?since=1d`, {
      token: owner.token,
      headers: { "last-event-id": event?.[1] ?? "" },
    });
    expect([resumed.status, resumed.text]).toEqual([200, ""]);
  });

  test.each([
    "since=",
    "since=10",
    "since=10w",
    "since=-5m",
    "since=yesterday",
    "since=2026-02-31",
    "since=1m&since=2m",
    "component=",
    "component=Web",
    "component=-web",
    "component=../etc",
    "component=%00",
    `component=${"c".repeat(64)}`,
    "follow=2",
    "follow=true",
    "tail=5",
  ])("refuse ?%s with 400", async (query) => {
    const { id } = (await deploy()).body;
    expectPlain(await read(`/${id}/logs?${query}`), 400);
  });

  test("answer 404 to an unknown deployment and 422 to one without a repository", async () => {
    expectPlain(await read(`/${NO_SUCH_ID}/logs`), 404, `Deployment ${NO_SUCH_ID} not found.`);
    const { id } = (await deploy()).body;
    await sql`UPDATE deployments SET resolved_build_config = NULL WHERE id = ${id}`;
    expectPlain(await read(`/${id}/logs`), 422, /has no repository/);
  });

  test("answer HEAD without a body", async () => {
    const { id } = (await deploy()).body;
    const reply = await quayside.call("HEAD", `/api/deployments/${id}/logs`, { token: owner.token });
    expect([reply.status, reply.text]).toEqual([200, ""]);
  });
});

describe("the stream of a deployment", () => {
  /** Reads events until there are `count` of them, then leaves. */
  async function events(id: string, count: number, headers: Record<string, string> = {}) {
    const leave = new AbortController();
    const response = await fetch(`${quayside.baseUrl}/api/deployments/${id}/stream`, {
      headers: { authorization: `Bearer ${owner.token}`, ...headers },
      signal: leave.signal,
    });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
    let text = "";
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      const found = [...text.matchAll(/^id: (\d+)\nevent: update\ndata: (.*)\n\n/gm)];
      if (found.length >= count) {
        leave.abort();
        return found.map(([, eventId = "", data = "null"]) => ({ eventId, data: JSON.parse(data) }));
      }
    }
    throw new Error(`The stream ended early: ${text}`);
  }

  test("tells every update from the first on, then new ones as they happen", async () => {
    const { id } = (await deploy()).body;
    await setStatus(id, { status: "building" });
    const reading = events(id, 3);
    await setStatus(id, { status: "deployed" });
    const seen = await reading;
    expect(seen.map(({ data }) => data)).toEqual([
      { status: "queued", message: `Queued ${SHA} of main.` },
      { status: "building", message: "Status set to 'building'." },
      { status: "deployed", message: "Status set to 'deployed'." },
    ]);
    const ids = seen.map(({ eventId }) => Number(eventId));
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    const rest = await events(id, 1, { "last-event-id": seen[1]?.eventId ?? "" });
    expect(rest).toEqual([seen[2]]);
  });

  test("refuses a wrong Last-Event-ID with 400", async () => {
    const { id } = (await deploy()).body;
    const headers = { "last-event-id": "abc" };
    const reply = await quayside.call("GET", `/api/deployments/${id}/stream`, { token: owner.token, headers });
    expectPlain(reply, 400, /'lastEventId' is not valid/);
  });
});
