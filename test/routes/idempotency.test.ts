import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectEnvelope, expectPlain, expectProblem } from "../support/expect-errors.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let owner: { token: string };

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  sql = connectTo(quayside.databaseUrl);
  owner = await quayside.signUp("owner");
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

const create = (key: string, body: unknown, token = owner.token, path = "/api/projects") =>
  quayside.call("POST", path, { token, body, headers: { "idempotency-key": key } });
const countNamed = async (name: string) => {
  const { body } = await quayside.call("GET", "/api/projects", { token: owner.token });
  return body.projects.filter((project: { name: string }) => project.name === name).length;
};

describe("a request with an Idempotency-Key", () => {
  test("that is sent again gets the first answer, byte for byte, and does nothing twice", async () => {
    const first = await create("replay", { name: "Replayed" });
    const again = await create("replay", { name: "Replayed" });
    expect([first.status, first.headers.get("idempotency-replayed")]).toEqual([201, null]);
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
    expect(again.text).toBe(first.text);
    expect(await countNamed("Replayed")).toBe(1);
  });

  test("replays the secret of a key too, and keeps it sealed in the database", async () => {
    const body = { name: "sealed", environment: "test", scopes: ["read"] };
    const first = await create("secret", body, owner.token, "/v1/crm/api-keys");
    const again = await create("secret", body, owner.token, "/v1/crm/api-keys");
    expect(again.text).toBe(first.text);
    const [row] = await sql`SELECT position(${first.body.secret}::bytea IN response_body) AS at
      FROM idempotency_keys WHERE key = 'secret'`;
    expect(row?.at).toBe(0);
  });

  test("and another body is 409", async () => {
    await create("one-body", { name: "Body one" });
    const reply = await create("one-body", { name: "Body two" });
    expectEnvelope(
      reply,
      409,
      "idempotency_key_reused",
      "This Idempotency-Key was used for another request: another body, or another id in the path. Use a new key.",
    );
    expect(await countNamed("Body two")).toBe(0);
  });

  test("that comes many times at once is done once", async () => {
    const replies = await Promise.all(Array.from({ length: 8 }, () => create("rush", { name: "Rushed" })));
    const made = replies.filter((reply) => reply.status === 201);
    const waiting = replies.filter((reply) => reply.status !== 201);
    expect(new Set(made.map((reply) => reply.text)).size).toBe(1);
    for (const reply of waiting) {
      expectEnvelope(reply, 409, "idempotency_in_progress");
      expect(reply.headers.get("retry-after")).toBe("1");
    }
    expect(made.filter((reply) => reply.headers.get("idempotency-replayed") === null)).toHaveLength(1);
    expect(await countNamed("Rushed")).toBe(1);
    expect((await create("rush", { name: "Rushed" })).text).toBe(made[0]?.text);
  });

  test("means the same key in quotes and bare", async () => {
    const bare = await create('say "hi"', { name: "Quoted" });
    const quoted = await create('"say \\"hi\\""', { name: "Quoted" });
    expect([bare.status, quoted.status, quoted.headers.get("idempotency-replayed")]).toEqual([201, 201, "true"]);
    expect(quoted.text).toBe(bare.text);
  });

  test.each([
    ["is empty in quotes", '""'],
    ["has 256 characters", "k".repeat(256)],
    ["is not ASCII", "schl\u00fcssel"],
  ])("is 400 when the key %s", async (_, key) => {
    const reply = await create(key, { name: "Bad key" });
    expectEnvelope(reply, 400, "invalid_request", "Idempotency-Key must be 1 to 255 printable ASCII characters.");
    expect(await countNamed("Bad key")).toBe(0);
  });

  test("takes a key of 255 characters", async () => {
    expect((await create("k".repeat(255), { name: "Long key" })).status).toBe(201);
  });

  test("that fails is forgotten, so that it can be mended under the same key", async () => {
    expectEnvelope(await create("mended", { name: "" }), 422, "validation_failed");
    const mended = await create("mended", { name: "Mended" });
    expect([mended.status, mended.headers.get("idempotency-replayed")]).toEqual([201, null]);
    const body = { projectId: mended.body.id, branch: "main", commitSha: "a".repeat(40) };
    expectPlain(await create("no repo", body, owner.token, "/api/deployments"), 422, /has no repository/);
    const repo = "https://git.example.com/a.git";
    await quayside.call("PATCH", `/api/projects/${mended.body.id}`, { token: owner.token, body: { repo } });
    const deployed = await create("no repo", body, owner.token, "/api/deployments");
    expect(deployed.status).toBe(201);
    expect((await create("no repo", body, owner.token, "/api/deployments")).text).toBe(deployed.text);
  });

  test("is forgotten after 24 hours", async () => {
    const first = await create("old", { name: "Old" });
    const [row] = await sql`SELECT extract(epoch FROM expires_at - created_at)::int AS seconds FROM idempotency_keys
      WHERE key = 'old'`;
    expect(row?.seconds).toBe(86_400);
    await sql`UPDATE idempotency_keys SET created_at = created_at - interval '25 hours',
      expires_at = expires_at - interval '25 hours' WHERE key = 'old'`;
    const later = await create("old", { name: "Old, but another body" });
    expect(later.status).toBe(201);
    expect(later.body.id).not.toBe(first.body.id);
  });

  test("stands for one route only", async () => {
    const body = { name: "two doors", environment: "test", scopes: ["read"] };
    expect((await create("door", { name: "Two doors" })).status).toBe(201);
    expect((await create("door", body, owner.token, "/v1/crm/api-keys")).status).toBe(201);
  });

  test("stands for one organization only", async () => {
    const other = await quayside.signUp("other");
    const mine = await create("shared", { name: "Mine" });
    const theirs = await create("shared", { name: "Theirs" }, other.token);
    expect([mine.status, theirs.status]).toEqual([201, 201]);
    expect(theirs.body.name).toBe("Theirs");
  });

  test("shows its first answer to nobody who could not have asked for it", async () => {
    const body = { name: "guarded", environment: "test", scopes: ["admin"] };
    const first = await create("guarded", body, owner.token, "/v1/crm/api-keys");
    expect(first.status).toBe(201);
    const weak = await quayside.makeKey(owner.token, { scopes: ["write"] });
    const reply = await create("guarded", body, weak.secret, "/v1/crm/api-keys");
    expectProblem(reply, 403, "insufficient_scope");
    expect(reply.text).not.toContain(first.body.secret);
    expectProblem(
      await quayside.call("POST", "/v1/crm/api-keys", { body, headers: { "idempotency-key": "guarded" } }),
      401,
      "sign_in_required",
    );
  });

  test("shows a member's secret to no other member of the organization", async () => {
    const member = await quayside.signUp("member");
    const { body: me } = await quayside.call("GET", "/api/v1/whoami", { token: owner.token });
    const tenantId = me.organization.id;
    await sql`INSERT INTO memberships (organization_id, user_id, role) VALUES (${tenantId}, ${member.userId}, 'member')`;
    const colleague = await quayside.makeKey(member.token, { scopes: ["admin"], tenantId });
    const body = { name: "personal", environment: "test", scopes: ["read"] };
    const first = await create("personal", body, owner.token, "/v1/crm/api-keys");
    const reply = await create("personal", body, colleague.secret, "/v1/crm/api-keys");
    expectProblem(reply, 409, "idempotency_key_reused");
    expect(reply.text).not.toContain(first.body.secret);
  });

  test("is not needed: without one, each request is its own", async () => {
    const send = () => quayside.call("POST", "/api/projects", { token: owner.token, body: { name: "Twice" } });
    const [one, two] = [await send(), await send()];
    expect([one.body.slug, two.body.slug]).toEqual(["twice", "twice-2"]);
  });
});
