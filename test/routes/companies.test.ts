import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mutate } from "../support/call-procedure.ts";
import { expectProblem } from "../support/expect-errors.ts";
import { type Owner, signUpOwner, walkPages } from "../support/organizations.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const NO_SUCH_ID = "00000000-0000-4000-8000-000000000000";

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let owner: Owner;
let stranger: Owner;
let walker: Owner;
let counter = 0;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  sql = connectTo(quayside.databaseUrl);
  [owner, stranger, walker] = await Promise.all([
    signUpOwner(quayside, "owner"),
    signUpOwner(quayside, "stranger"),
    signUpOwner(quayside, "walker"),
  ]);
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

const list = (query = "", token = owner.token) => quayside.call("GET", `/v1/crm/companies${query}`, { token });
const read = (id: string, token = owner.token) => quayside.call("GET", `/v1/crm/companies/${id}`, { token });
const create = (input: unknown, token = owner.token) => mutate(quayside, "crm.companies.create", input, token);
const update = (input: unknown, token = owner.token) => mutate(quayside, "crm.companies.update", input, token);
const remove = (id: string, token = owner.token) => mutate(quayside, "crm.companies.delete", { id }, token);
const freshDomain = () => `unique-${++counter}.example`;

async function made(input: object = {}, by = owner): Promise<{ id: string }> {
  const reply = await create({ name: "Acme", ...input }, by.token);
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
}

async function addPerson({ organizationId }: Owner, companyId: string): Promise<string> {
  const id = randomUUID();
  await sql`INSERT INTO people (organization_id, id, company_id) VALUES (${organizationId}, ${id}, ${companyId})`;
  return id;
}

describe("a company", () => {
  test("is created, read and listed as the same record", async () => {
    const domain = freshDomain();
    const created = await create({ name: "Café Zürich", domain, attributes: { size: 12, tags: ["a"] } });
    expect(created.status).toBe(200);
    expect(created.body).toEqual({
      id: expect.stringMatching(UUID),
      name: "Café Zürich",
      domain,
      attributes: { size: 12, tags: ["a"] },
      peopleCount: 0,
      createdAt: expect.stringMatching(TIME),
      updatedAt: created.body.createdAt,
    });
    const one = await read(created.body.id);
    expect([one.status, one.body]).toEqual([200, created.body]);
    const all = await list("?limit=1");
    expect(all.body.data).toEqual([created.body]);
  });

  test("needs no more than a name", async () => {
    const { id } = await made({ name: "Nameonly" });
    expect((await read(id)).body).toMatchObject({ name: "Nameonly", domain: null, attributes: {} });
  });

  test.each([
    ["upper case", (domain: string) => domain.toUpperCase(), (domain: string) => domain],
    ["an international name", (domain: string) => `bücher-${domain}`, (domain: string) => `xn--bcher-${domain}`],
  ])("has its domain in lower case and ASCII when it comes in %s", async (name, given, stored) => {
    const domain = freshDomain();
    const created = await create({ name: "Normal", domain: given(domain) });
    if (name === "upper case") expect(created.body.domain).toBe(stored(domain));
    else expect(created.body.domain).toMatch(/^xn--bcher-unique-\d+-[a-z0-9]+\.example$/);
    expect((await create({ name: "Again", domain: created.body.domain })).status).toBe(409);
  });

  test("has a domain that no other company of the organization has", async () => {
    const domain = freshDomain();
    await made({ domain });
    const again = await create({ name: "Copy", domain: domain.toUpperCase() });
    expect([again.status, again.body.data.errorCode]).toEqual([409, "conflict"]);
    expect(again.body.message).toBe(`Another company has the domain '${domain}'.`);
    const other = await made({ domain: freshDomain() });
    expect((await update({ id: other.id, domain })).status).toBe(409);
    expect((await create({ name: "Elsewhere", domain }, stranger.token)).status).toBe(200);
  });

  test("is made once when two come at the same moment", async () => {
    const domain = freshDomain();
    const replies = await Promise.all(Array.from({ length: 6 }, () => create({ name: "Race", domain })));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409]);
  });

  test("counts its own people", async () => {
    const [{ id }, { id: other }] = [await made(), await made()];
    const foreign = await made({}, stranger);
    await Promise.all([addPerson(owner, id), addPerson(owner, id), addPerson(owner, other)]);
    await addPerson(stranger, foreign.id);
    expect((await read(id)).body.peopleCount).toBe(2);
    const { body } = await list("?limit=3");
    const counts = new Map(
      body.data.map((company: { id: string; peopleCount: number }) => [company.id, company.peopleCount]),
    );
    expect([counts.get(id), counts.get(other)]).toEqual([2, 1]);
  });

  test("changes the fields that are given", async () => {
    const { id } = await made({
      name: "Before",
      domain: freshDomain(),
      attributes: { keep: 1, drop: 2, deep: { a: 1 } },
    });
    const domain = freshDomain();
    const reply = await update({ id, domain, attributes: { drop: null, deep: { b: 2 }, added: "x" } });
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({ name: "Before", domain, attributes: { keep: 1, deep: { b: 2 }, added: "x" } });
    expect(Object.keys(reply.body.attributes)).not.toContain("drop");
    const bare = await update({ id: id.toUpperCase(), name: "After", domain: null });
    expect(bare.body).toMatchObject({ id, name: "After", domain: null, attributes: reply.body.attributes });
    expect((await read(id)).body).toEqual(bare.body);
  });

  test("that two callers change at once loses neither's attributes", async () => {
    const { id } = await made();
    await Promise.all(Array.from({ length: 8 }, (_, i) => update({ id, attributes: { [`key${i}`]: i } })));
    expect(Object.keys((await read(id)).body.attributes)).toHaveLength(8);
  });

  test("never has more attributes than may be stored", async () => {
    const many = (prefix: string) => Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`${prefix}${i}`, i]));
    const { id } = await made({ attributes: many("a") });
    const reply = await update({ id, attributes: many("b") });
    expect([reply.status, reply.body.data.issues[0].field]).toEqual([422, "attributes"]);
    expect(reply.body.message).toBe("Together with what is there, attributes must not have more than 200 keys.");
  });

  test("that is deleted is gone, and its people stay without a company", async () => {
    const { id } = await made();
    const person = await addPerson(owner, id);
    await sql`UPDATE people SET updated_at = '2020-01-01' WHERE id = ${person}`;
    expect((await remove(id)).status).toBe(200);
    expectProblem(await read(id), 404, "not_found", `No company has the id ${id}.`);
    const [row] = await sql`SELECT company_id, updated_at > '2020-01-02' AS touched FROM people WHERE id = ${person}`;
    expect(row).toEqual({ company_id: null, touched: true });
    const again = await remove(id);
    expect([again.status, again.body.data.errorCode]).toEqual([404, "not_found"]);
  });

  test("leaves an audit event of each change", async () => {
    const { id } = await made();
    await update({ id, name: "Audited" });
    await remove(id);
    const events =
      await sql`SELECT action, actor, details FROM audit_events WHERE target = ${`company:${id}`} ORDER BY id`;
    expect([...events]).toEqual([
      { action: "company.created", actor: "user:owner", details: {} },
      { action: "company.updated", actor: "user:owner", details: { fields: ["name"] } },
      { action: "company.deleted", actor: "user:owner", details: { unlinkedPeople: 0 } },
    ]);
  });

  test("is told of by company.created, to endpoints of its organization that listen", async () => {
    const told = () => sql`SELECT organization_id, area, type, data FROM webhook_events WHERE type = 'company.created'`;
    await made({}, walker);
    expect(await told()).toHaveLength(0);
    const body = { name: "Listener", url: "https://hooks.example/crm", events: ["company.created"] };
    expect((await quayside.call("POST", "/v1/crm/webhooks", { token: walker.token, body })).status).toBe(201);
    await made({}, owner);
    const { body: record } = await create({ name: "Told", attributes: { a: 1 } }, walker.token);
    expect([...(await told())]).toEqual([
      { organization_id: walker.organizationId, area: "crm", type: "company.created", data: { company: record } },
    ]);
    await sql`DELETE FROM companies WHERE organization_id = ${walker.organizationId}`;
  });
});

describe("the rules of the input", () => {
  test.each([
    ["no name", { name: undefined }, "name"],
    ["an empty name", { name: "" }, "name"],
    ["a blank name", { name: " \t\u00a0" }, "name"],
    ["a name of 501 characters", { name: "n".repeat(501) }, "name"],
    ["a name of almost 1 MB", { name: "n".repeat(1_000_000) }, "name"],
    ["a name with NUL", { name: "a\u0000b" }, "name"],
    ["a name with half an emoji", { name: "a\ud83d" }, "name"],
    ["a name that is a number", { name: 5 }, "name"],
    ["a domain without a dot", { domain: "localhost" }, "domain"],
    ["a domain with a space", { domain: "a b.example" }, "domain"],
    ["a URL as domain", { domain: "https://acme.example" }, "domain"],
    ["an email as domain", { domain: "a@acme.example" }, "domain"],
    ["an IP address as domain", { domain: "192.0.2.1" }, "domain"],
    ["a short IP address as domain", { domain: "127.1" }, "domain"],
    ["a domain with broken punycode", { domain: "xn--a.ü.example" }, "domain"],
    [
      "a domain that is too long in ASCII",
      { domain: `${"ü".repeat(60)}.${"ü".repeat(60)}.${"ü".repeat(60)}.${"ü".repeat(60)}.de` },
      "domain",
    ],
    ["an empty domain", { domain: "" }, "domain"],
    ["attributes as a list", { attributes: [] }, "attributes"],
    ["attributes with NUL", { attributes: { a: { b: ["\u0000"] } } }, "attributes.a"],
    ["an unknown field", { colour: "red" }, "colour"],
  ])("refuse %s with 422 and the name of the field", async (_, fields, field) => {
    const reply = await create({ name: "Fine", ...fields });
    expect([reply.status, reply.body.data?.errorCode], reply.text).toEqual([422, "validation_failed"]);
    expect(new Set(reply.body.data.issues.map((issue: { field: string }) => issue.field))).toEqual(new Set([field]));
    expect(reply.text.length).toBeLessThan(2_000);
  });

  test("refuse attributes that are nested too deeply, without harm", async () => {
    const deep = `${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`;
    const reply = await create(`{"name":"Deep","attributes":${deep}}`);
    expect([reply.status, reply.body.data.errorCode]).toEqual([422, "validation_failed"]);
  });

  test("refuse __proto__, and take other names that JavaScript knows", async () => {
    const refused = await create('{"name":"Proto","attributes":{"__proto__":{"polluted":1}}}');
    expect(refused.status).toBe(422);
    expect(refused.text).toContain("attributes.__proto__");
    const taken = await create('{"name":"Proto","attributes":{"constructor":"c"}}');
    expect(taken.body.attributes).toEqual({ constructor: "c" });
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });

  test.each([
    ["an emoji", "🏢 Büro"],
    ["right-to-left text", "شركة الاختبار"],
    ["a change of direction", "\u202etxet desrever"],
    ["500 characters", "n".repeat(500)],
    ["SQL", "'; DROP TABLE companies; --"],
  ])("take a name with %s as it is", async (_, name) => {
    const { id } = await made({ name });
    expect((await read(id)).body.name).toBe(name);
  });
});

describe("access", () => {
  test("is 401 without a credential and 403 without the scope", async () => {
    expectProblem(await quayside.call("GET", "/v1/crm/companies"), 401, "sign_in_required");
    expectProblem(await quayside.call("GET", `/v1/crm/companies/${NO_SUCH_ID}`), 401, "sign_in_required");
    const reader = await quayside.makeKey(owner.token, { scopes: ["read"] });
    expect((await list("", reader.secret)).status).toBe(200);
    const { id } = await made();
    for (const reply of [
      await create({ name: "No" }, reader.secret),
      await update({ id, name: "No" }, reader.secret),
      await remove(id, reader.secret),
    ]) {
      expect([reply.status, reply.body.data.errorCode]).toEqual([403, "insufficient_scope"]);
    }
  });

  test("to another organization's company is 404, and it is never listed", async () => {
    const { id } = await made({ name: "Private", domain: freshDomain() });
    const reply = await read(id, stranger.token);
    expectProblem(reply, 404, "not_found", `No company has the id ${id}.`);
    expect((await update({ id, name: "Stolen" }, stranger.token)).status).toBe(404);
    expect((await remove(id, stranger.token)).status).toBe(404);
    expect(await walkPages((query) => list(query, stranger.token), "limit=200")).not.toContain(id);
    expect((await read(id)).body.name).toBe("Private");
  });

  test("by an id that two organizations have leads each to its own", async () => {
    const id = randomUUID();
    for (const [by, name] of [
      [owner, "Mine"],
      [stranger, "Theirs"],
    ] as const) {
      await sql`INSERT INTO companies (organization_id, id, name) VALUES (${by.organizationId}, ${id}, ${name})`;
    }
    expect((await remove(id)).status).toBe(200);
    expect([(await read(id)).status, (await read(id, stranger.token)).body.name]).toEqual([404, "Theirs"]);
  });

  test.each([NO_SUCH_ID, "not-a-uuid", "%F0%9F%8F%A2", "a%00b", "1", "__proto__"])(
    "by the id %s is 404",
    async (id) => {
      expectProblem(await read(id), 404, "not_found");
    },
  );

  test.each(["POST", "PUT", "PATCH", "DELETE"])("by %s is 405 on the list", async (method) => {
    const reply = await quayside.call(method, "/v1/crm/companies", { token: owner.token });
    expectProblem(reply, 405, "method_not_allowed");
    expect(reply.headers.get("allow")).toBe("GET, HEAD, OPTIONS");
  });

  test("by DELETE is 405 on a company", async () => {
    const reply = await quayside.call("DELETE", `/v1/crm/companies/${NO_SUCH_ID}`, { token: owner.token });
    expectProblem(reply, 405, "method_not_allowed");
  });
});
