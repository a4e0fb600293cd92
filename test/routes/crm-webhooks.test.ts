import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mutate } from "../support/call-procedure.ts";
import { expectProblem } from "../support/expect-errors.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";

const PATH = "/v1/crm/webhooks";
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const NO_SUCH_ID = "00000000-0000-4000-8000-000000000000";
const NEW = { name: "Listener", url: "https://hooks.example/crm?a=1", events: ["person.created"] };
const EVENTS = [
  "person.created",
  "person.updated",
  "person.tagged",
  "person.untagged",
  "person.score_changed",
  "company.created",
  "touchpoint.recorded",
  "*",
];

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

const create = (fields: object = {}, token = owner.token, headers: Record<string, string> = {}) =>
  quayside.call("POST", PATH, { token, body: { ...NEW, ...fields }, headers });
const list = (token = owner.token) => quayside.call("GET", PATH, { token });
const read = (id: string, token = owner.token) => quayside.call("GET", `${PATH}/${id}`, { token });
const remove = (id: string, token = owner.token) => quayside.call("DELETE", `${PATH}/${id}`, { token });
const update = (input: unknown, token = owner.token) => mutate(quayside, "crm.webhooks.update", input, token);

async function made(fields: object = {}, token = owner.token): Promise<string> {
  const reply = await create(fields, token);
  expect(reply.status, reply.text).toBe(201);
  return reply.body.id;
}

describe("a webhook", () => {
  test("is created with 201 and its id alone", async () => {
    const reply = await create();
    expect([reply.status, reply.body]).toEqual([201, { id: expect.stringMatching(UUID) }]);
  });

  test("is read and listed as it was made", async () => {
    const id = await made({ name: "Übersicht 📣", events: ["person.tagged", "company.created", "person.tagged"] });
    const record = {
      id,
      name: "Übersicht 📣",
      url: NEW.url,
      events: ["person.tagged", "company.created"],
      status: "enabled",
      createdAt: expect.stringMatching(TIME),
      lastDelivery: null,
    };
    const one = await read(id);
    expect([one.status, one.body]).toEqual([200, { ...record, secret: expect.any(String) }]);
    const all = await list();
    expect([all.status, all.body.data[0]]).toEqual([200, record]);
    expect(Object.keys(all.body)).toEqual(["data"]);
  });

  test("is listed newest first, among its organization's own only", async () => {
    const { token } = await quayside.signUp("lister");
    expect((await list(token)).body).toEqual({ data: [] });
    const ids = [await made({}, token), await made({}, token), await made({}, token)];
    expect((await list(token)).body.data.map((webhook: { id: string }) => webhook.id)).toEqual(ids.reverse());
  });

  test.each(EVENTS)("listens to %s", async (event) => {
    const { token } = await quayside.signUp(`listener${EVENTS.indexOf(event)}`);
    const id = await made({ events: [event] }, token);
    expect((await read(id, token)).body.events).toEqual([event]);
  });

  test("is deleted with 204 and gone then", async () => {
    const id = await made();
    const reply = await remove(id);
    expect([reply.status, reply.text]).toEqual([204, ""]);
    expectProblem(await read(id), 404, "not_found", `No webhook has the id ${id}.`);
    expectProblem(await remove(id), 404, "not_found");
    expect((await list()).body.data.map((webhook: { id: string }) => webhook.id)).not.toContain(id);
  });

  test("changes over tRPC, and tells nothing of its secret there", async () => {
    const id = await made();
    const before = (await read(id)).body;
    const reply = await update({
      id,
      name: "New",
      url: "http://localhost:9/x",
      events: ["*", "*"],
      status: "disabled",
    });
    expect(reply.status).toBe(200);
    const changed = { name: "New", url: "http://localhost:9/x", events: ["*"], status: "disabled" };
    const { secret, ...record } = before;
    expect(reply.body).toEqual({ ...record, ...changed });
    expect((await read(id)).body).toEqual({ ...before, ...changed });
    expect((await update({ id, status: "enabled" })).body).toMatchObject({ ...changed, status: "enabled" });
    expect((await update({ id: NO_SUCH_ID, name: "x" })).status).toBe(404);
    expect((await update({ id, events: [] })).status).toBe(422);
    expect((await update({ id, area: "organization" })).status).toBe(422);
  });

  test("leaves an audit event of each change, without its secret", async () => {
    const id = await made();
    await update({ id, status: "disabled" });
    await remove(id);
    const events = await sql`SELECT action, details FROM audit_events WHERE target = ${`webhook:${id}`} ORDER BY id`;
    expect([...events]).toEqual([
      { action: "crm_webhook.created", details: {} },
      { action: "crm_webhook.updated", details: { fields: ["status"] } },
      { action: "crm_webhook.deleted", details: {} },
    ]);
  });

  test("is made once when the request is sent again with its Idempotency-Key", async () => {
    const headers = { "idempotency-key": "webhook-1" };
    const first = await create({}, owner.token, headers);
    const again = await create({}, owner.token, headers);
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expectProblem(await create({ name: "Other" }, owner.token, headers), 409, "idempotency_key_reused");
  });

  test("is one of at most 100, also when many are made at once", async () => {
    const { token } = await quayside.signUp("collector");
    const organization = (await quayside.call("GET", "/api/v1/whoami", { token })).body.organization.id;
    await sql`INSERT INTO webhook_endpoints (id, organization_id, area, name, url, events, secret, status)
      SELECT gen_random_uuid(), ${organization}, area, 'Full', 'https://hooks.example', '{*}', '', 'enabled'
      FROM generate_series(1, 97), unnest(ARRAY['crm', 'organization']) AS area`;
    const replies = await Promise.all(Array.from({ length: 8 }, () => create({}, token)));
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409, 409, 409, 409, 409]);
    const full = await create({}, token);
    expectProblem(full, 409, "conflict", "An organization may have at most 100 CRM webhooks; delete one first.");
    const all = await list(token);
    expect(all.body.data).toHaveLength(100);
    await remove(all.body.data[0].id, token);
    expect((await create({}, token)).status).toBe(201);
  });
});

describe("the signing secret", () => {
  test("is whsec_ and 32 random bytes, another one for each webhook", async () => {
    const secrets = [];
    for (const id of [await made(), await made()]) secrets.push((await read(id)).body.secret as string);
    for (const secret of secrets) {
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      expect(Buffer.from(secret.slice("whsec_".length), "base64")).toHaveLength(32);
    }
    expect(new Set(secrets).size).toBe(2);
  });

  test("is shown to the scope admin only, and never in the list", async () => {
    const id = await made();
    for (const [scope, shown] of [
      ["read", false],
      ["write", false],
      ["admin", true],
    ] as const) {
      const { secret } = await quayside.makeKey(owner.token, { scopes: [scope] });
      const reply = await read(id, secret);
      expect(reply.status).toBe(200);
      expect("secret" in reply.body, scope).toBe(shown);
    }
    expect((await list()).text).not.toContain("secret");
  });

  test("is sealed in the database, for its own webhook only", async () => {
    const [id, other] = [await made(), await made()];
    const { secret } = (await read(id)).body;
    const [row] = await sql`SELECT secret FROM webhook_endpoints WHERE id = ${id}`;
    expect(row?.secret.includes(secret)).toBe(false);
    expect(row?.secret.includes(Buffer.from(secret.slice(6), "base64"))).toBe(false);
    await sql`UPDATE webhook_endpoints SET secret = (SELECT secret FROM webhook_endpoints WHERE id = ${id})
      WHERE id = ${other}`;
    expect((await read(other)).status).toBe(500);
    await sql`DELETE FROM webhook_endpoints WHERE id = ${other}`;
  });

  test("cannot be chosen", async () => {
    expectProblem(await create({ secret: "mine" }), 422, "validation_failed", /'secret' is not valid/);
  });
});

describe("the rules of the input", () => {
  test.each([
    ["no name", { name: undefined }, "name"],
    ["an empty name", { name: "" }, "name"],
    ["a blank name", { name: " \n" }, "name"],
    ["a name of 201 characters", { name: "n".repeat(201) }, "name"],
    ["a name of almost 1 MB", { name: "n".repeat(1_000_000) }, "name"],
    ["a name with NUL", { name: "a\u0000" }, "name"],
    ["no URL", { url: undefined }, "url"],
    ["a URL without a scheme", { url: "hooks.example" }, "url"],
    ["a URL of another scheme", { url: "ftp://hooks.example" }, "url"],
    ["a script as URL", { url: "javascript:alert(1)" }, "url"],
    ["a file as URL", { url: "file:///etc/passwd" }, "url"],
    ["a URL with a password", { url: "https://me:secret@hooks.example" }, "url"],
    ["a URL with a user name", { url: "https://me@hooks.example" }, "url"],
    ["a URL with NUL", { url: "https://hooks.example/\u0000" }, "url"],
    ["a URL with a space", { url: "https://hooks.example/a b" }, "url"],
    ["a URL with half an emoji", { url: "https://hooks.example/\ud83d" }, "url"],
    ["a URL of 2,049 characters", { url: `https://hooks.example/${"x".repeat(2_027)}` }, "url"],
    ["a URL as object", { url: {} }, "url"],
    ["no events", { events: undefined }, "events"],
    ["an empty list of events", { events: [] }, "events"],
    ["one event as text", { events: "person.created" }, "events"],
    ["an event as null", { events: [null] }, "events.0"],
    ["21 events", { events: Array.from({ length: 21 }, () => "*") }, "events"],
    ["an unknown field", { active: true }, "active"],
  ])("refuse %s with 422 and the name of the field", async (_, fields, field) => {
    const reply = await create(fields);
    expectProblem(reply, 422, "validation_failed");
    expect(reply.body.errors.map((issue: { field: string }) => issue.field)).toEqual([field]);
    expect(reply.text.length).toBeLessThan(2_000);
  });

  test("refuse an unknown event and list the right ones", async () => {
    const reply = await create({ events: ["person.created", "person.deleted"] });
    expectProblem(reply, 422, "validation_failed");
    expect(reply.body.errors[0].field).toBe("events.1");
    for (const event of EVENTS) expect(reply.body.errors[0].message).toContain(`"${event}"`);
  });

  test.each([
    ["a name of 1 character", { name: "n" }],
    ["a name of 200 characters", { name: "n".repeat(200) }],
    ["a name from right to left", { name: "شركة" }],
    ["plain http", { url: "http://hooks.example" }],
    ["a port, a query and a fragment", { url: "https://hooks.example:8443/a/b?c=d&e=%20#f" }],
    ["an international host", { url: "https://bücher.example/🪝" }],
    ["an IPv6 address", { url: "http://[2001:db8::1]:8080/" }],
    ["a URL of 2,048 characters", { url: `https://hooks.example/${"x".repeat(2_026)}` }],
    ["all events at once", { events: EVENTS }],
  ])("accept %s", async (_, fields) => {
    const id = await made(fields, stranger.token);
    expect((await read(id, stranger.token)).body).toMatchObject(fields);
  });

  test("store a URL as it is called, without space around it or line breaks in it", async () => {
    const id = await made({ url: " https://hooks.example/a\n/b\t " });
    expect((await read(id)).body.url).toBe("https://hooks.example/a/b");
  });

  test("refuse __proto__ and deep nesting without harm", async () => {
    for (const rawBody of [
      '{"__proto__":{"polluted":1}}',
      `{"name":${"[".repeat(10_000)}${"]".repeat(10_000)}}`,
      '{"constructor":{"prototype":{"polluted":1}}}',
    ]) {
      const reply = await quayside.call("POST", PATH, { token: owner.token, rawBody });
      expectProblem(reply, 422, "validation_failed");
    }
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });

  test("name all faults at once", async () => {
    const reply = await quayside.call("POST", PATH, { token: owner.token, body: {} });
    expect(reply.body.errors.map((issue: { field: string }) => issue.field)).toEqual(["name", "url", "events"]);
  });

  test("want JSON of at most 1 MiB", async () => {
    const send = (rawBody: string, headers = {}) =>
      quayside.call("POST", PATH, { token: owner.token, rawBody, headers });
    expectProblem(await send("{"), 400, "malformed_body");
    expectProblem(await send("[]"), 400, "malformed_body");
    expectProblem(await send("{}", { "content-type": "text/plain" }), 415, "unsupported_media_type");
    expectProblem(await send(`{"name":"${"n".repeat(1_048_576)}"}`), 413, "payload_too_large");
  });
});

describe("access", () => {
  test("is 401 without a credential", async () => {
    for (const [method, path] of [
      ["GET", PATH],
      ["POST", PATH],
      ["GET", `${PATH}/${NO_SUCH_ID}`],
      ["DELETE", `${PATH}/${NO_SUCH_ID}`],
    ] as const) {
      expectProblem(await quayside.call(method, path), 401, "sign_in_required");
    }
  });

  test("needs read for reading and write for writing", async () => {
    const id = await made();
    const reader = await quayside.makeKey(owner.token, { scopes: ["read"] });
    const writer = await quayside.makeKey(owner.token, { scopes: ["write"] });
    expect((await list(reader.secret)).status).toBe(200);
    expectProblem(await create({}, reader.secret), 403, "insufficient_scope", /needs the scope 'write'/);
    expectProblem(await remove(id, reader.secret), 403, "insufficient_scope", /needs the scope 'write'/);
    expect((await update({ id, name: "x" }, reader.secret)).status).toBe(403);
    expect((await create({}, writer.secret)).status).toBe(201);
    expect((await remove(id, writer.secret)).status).toBe(204);
  });

  test("to another organization's webhook is 404 and leaves it as it is", async () => {
    const id = await made();
    expectProblem(await read(id, stranger.token), 404, "not_found", `No webhook has the id ${id}.`);
    expectProblem(await remove(id, stranger.token), 404, "not_found");
    expect((await update({ id, url: "https://evil.example" }, stranger.token)).status).toBe(404);
    expect((await list(stranger.token)).text).not.toContain(id);
    expect((await read(id)).body.url).toBe(NEW.url);
  });

  test("to a webhook of the organization's own events is 404 here", async () => {
    const id = await made();
    await sql`UPDATE webhook_endpoints SET area = 'organization' WHERE id = ${id}`;
    expectProblem(await read(id), 404, "not_found");
    expectProblem(await remove(id), 404, "not_found");
    expect((await list()).text).not.toContain(id);
  });

  test.each([NO_SUCH_ID, "not-a-uuid", "a%00b"])("by the id %s is 404", async (id) => {
    expectProblem(await read(id), 404, "not_found");
    expectProblem(await remove(id), 404, "not_found");
  });

  test.each([
    ["PUT", PATH, "GET, POST, HEAD, OPTIONS"],
    ["DELETE", PATH, "GET, POST, HEAD, OPTIONS"],
    ["POST", `${PATH}/${NO_SUCH_ID}`, "GET, DELETE, HEAD, OPTIONS"],
    ["PATCH", `${PATH}/${NO_SUCH_ID}`, "GET, DELETE, HEAD, OPTIONS"],
  ])("by %s %s is 405", async (method, path, allow) => {
    const reply = await quayside.call(method, path, { token: owner.token });
    expectProblem(reply, 405, "method_not_allowed");
    expect(reply.headers.get("allow")).toBe(allow);
  });
});
