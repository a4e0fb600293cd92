import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mutate } from "../support/call-procedure.ts";
import { expectProblem } from "../support/expect-errors.ts";
import { type Owner, signUpOwner, walkPages } from "../support/organizations.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const NO_SUCH_ID = "00000000-0000-4000-8000-000000000000";
const STATUSES = ["draft", "active", "paused", "completed", "archived"];

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let owner: Owner;
let stranger: Owner;
let walker: Owner;

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

const list = (query = "", token = owner.token) => quayside.call("GET", `/v1/crm/campaigns${query}`, { token });
const read = (id: string, token = owner.token) => quayside.call("GET", `/v1/crm/campaigns/${id}`, { token });
const create = (input: unknown, token = owner.token) => mutate(quayside, "crm.campaigns.create", input, token);
const update = (input: unknown, token = owner.token) => mutate(quayside, "crm.campaigns.update", input, token);
const remove = (id: string, token = owner.token) => mutate(quayside, "crm.campaigns.delete", { id }, token);
const namesOf = (body: { data: { name: string }[] }) => body.data.map(({ name }) => name);

async function made(input: object = {}, by = owner): Promise<{ id: string }> {
  const reply = await create({ name: "Spring", ...input }, by.token);
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
}

describe("a campaign", () => {
  test("is created, read and listed as the same record", async () => {
    const created = await create({
      name: "Launch 🚀",
      status: "active",
      description: "The big one",
      startsAt: "2026-03-01T09:00:00+01:00",
      endsAt: "2026-03-31T23:59:59.5Z",
      attributes: { budget: 12_000, channels: ["email"] },
    });
    expect(created.status).toBe(200);
    expect(created.body).toEqual({
      id: expect.stringMatching(UUID),
      name: "Launch 🚀",
      status: "active",
      description: "The big one",
      startsAt: "2026-03-01T08:00:00.000Z",
      endsAt: "2026-03-31T23:59:59.500Z",
      attributes: { budget: 12_000, channels: ["email"] },
      createdAt: expect.stringMatching(TIME),
      updatedAt: created.body.createdAt,
    });
    const one = await read(created.body.id);
    expect([one.status, one.body]).toEqual([200, created.body]);
    expect((await list("?limit=1")).body.data).toEqual([created.body]);
  });

  test("needs no more than a name and is a draft then", async () => {
    const { id } = await made();
    expect((await read(id)).body).toMatchObject({
      status: "draft",
      description: null,
      startsAt: null,
      endsAt: null,
      attributes: {},
    });
  });

  test("changes the fields that are given", async () => {
    const { id } = await made({ description: "x", endsAt: "2026-05-01T00:00:00Z", attributes: { keep: 1, drop: 2 } });
    const reply = await update({ id, status: "paused", description: null, attributes: { drop: null, added: [1] } });
    expect(reply.body).toMatchObject({
      id,
      name: "Spring",
      status: "paused",
      description: null,
      endsAt: "2026-05-01T00:00:00.000Z",
      attributes: { keep: 1, added: [1] },
    });
    expect(Object.keys(reply.body.attributes)).toHaveLength(2);
    expect((await update({ id, endsAt: null })).body.endsAt).toBeNull();
    expect((await read(id)).body).toMatchObject({ status: "paused", endsAt: null });
  });

  test("does not end before it starts, however the two came together", async () => {
    const late = { startsAt: "2026-06-02T00:00:00Z", endsAt: "2026-06-01T00:00:00Z" };
    const refused = await create({ name: "Backwards", ...late });
    expect([refused.status, refused.body.data.issues[0].field]).toEqual([422, "endsAt"]);
    const { id } = await made({ startsAt: late.startsAt, endsAt: late.startsAt });
    for (const change of [{ endsAt: late.endsAt }, { startsAt: "2026-06-03T00:00:00Z" }]) {
      const reply = await update({ id, ...change });
      expect([reply.status, reply.body.message]).toEqual([422, "endsAt must not be before startsAt."]);
    }
    expect((await update({ id, startsAt: null, endsAt: late.endsAt })).status).toBe(200);
  });

  test("that is deleted is gone, and its touchpoints stay without a campaign", async () => {
    const { id } = await made();
    const [person, event] = [randomUUID(), randomUUID()];
    await sql`INSERT INTO people (organization_id, id) VALUES (${owner.organizationId}, ${person})`;
    await sql`INSERT INTO timeline_events (organization_id, id, person_id, type, occurred_at, title, campaign_id)
      VALUES (${owner.organizationId}, ${event}, ${person}, 'email.opened', now(), 'Opened', ${id})`;
    expect((await remove(id)).status).toBe(200);
    expectProblem(await read(id), 404, "not_found", `No campaign has the id ${id}.`);
    const [row] = await sql`SELECT campaign_id FROM timeline_events WHERE id = ${event}`;
    expect(row).toEqual({ campaign_id: null });
    expect((await remove(id)).status).toBe(404);
  });

  test("leaves an audit event of each change", async () => {
    const { id } = await made();
    await update({ id, name: "Audited" });
    await remove(id);
    const events = await sql`SELECT action, details FROM audit_events WHERE target = ${`campaign:${id}`} ORDER BY id`;
    expect([...events]).toEqual([
      { action: "campaign.created", details: {} },
      { action: "campaign.updated", details: { fields: ["name"] } },
      { action: "campaign.deleted", details: { unlinkedTouchpoints: 0 } },
    ]);
  });
});

describe("the rules of the input", () => {
  test.each([
    ["no name", { name: undefined }, "name"],
    ["a blank name", { name: "  " }, "name"],
    ["a name of 501 characters", { name: "n".repeat(501) }, "name"],
    ["a name with NUL", { name: "a\u0000" }, "name"],
    ["an unknown status", { status: "running" }, "status"],
    ["a description of almost 1 MB", { description: "d".repeat(1_000_000) }, "description"],
    ["a description with NUL", { description: "\u0000" }, "description"],
    ["a start without a time", { startsAt: "2026-01-01" }, "startsAt"],
    ["a start without an offset", { startsAt: "2026-01-01T00:00:00" }, "startsAt"],
    ["a start on a day that does not exist", { startsAt: "2026-02-30T00:00:00Z" }, "startsAt"],
    ["a start in the year 0", { startsAt: "0000-06-01T00:00:00Z" }, "startsAt"],
    ["a start that is before the year 1 in UTC", { startsAt: "0001-01-01T00:00:00+14:00" }, "startsAt"],
    ["an end that is after the year 9999 in UTC", { endsAt: "9999-12-31T23:59:59-01:00" }, "endsAt"],
    ["an end that is a number", { endsAt: 5 }, "endsAt"],
    ["attributes that are text", { attributes: "x" }, "attributes"],
    ["attributes with an empty key", { attributes: { "": 1 } }, "attributes"],
    ["attributes nested 10 deep", { attributes: { a: [[[[[[[[[1]]]]]]]]] } }, "attributes.a"],
    ["an unknown field", { budget: 5 }, "budget"],
  ])("refuse %s with 422 and the name of the field", async (_, fields, field) => {
    const reply = await create({ name: "Fine", ...fields });
    expect([reply.status, reply.body.data?.errorCode], reply.text.slice(0, 500)).toEqual([422, "validation_failed"]);
    expect(new Set(reply.body.data.issues.map((issue: { field: string }) => issue.field))).toEqual(new Set([field]));
    expect(reply.text.length).toBeLessThan(2_000);
  });

  test("take the first and the last moment that can be said", async () => {
    const { id } = await made({ startsAt: "0001-01-01T00:00:00Z", endsAt: "9999-12-31T23:59:59.999Z" });
    expect((await read(id)).body).toMatchObject({
      startsAt: "0001-01-01T00:00:00.000Z",
      endsAt: "9999-12-31T23:59:59.999Z",
    });
  });
});

describe("the list", () => {
  test("can be of one status, and of a part of the name", async () => {
    const { token } = await quayside.signUp("lister");
    for (const status of STATUSES) {
      await create({ name: `Été ${status}`, status }, token);
      await create({ name: `50% off_${status}`, status }, token);
    }
    const ask = async (query: string) => namesOf((await list(query, token)).body);
    expect(await ask("?status=paused")).toEqual(["50% off_paused", "Été paused"]);
    expect(await ask("?q=%C3%89T%C3%89&status=active")).toEqual(["Été active"]);
    expect(await ask("?q=0%25%20off_dr")).toEqual(["50% off_draft"]);
    expect(await ask("?q=%25")).toHaveLength(5);
    expect(await ask("?q=nothing")).toEqual([]);
    expect(await ask("")).toHaveLength(10);
  });

  test("is walked by cursors in its order, without gaps or doubles", async () => {
    const row = fc.record({
      id: fc.uuid(),
      at: fc.integer({ min: 0, max: 3 }).map((micros) => `2026-01-01 00:00:00.00000${micros}+00`),
      status: fc.constantFrom(...STATUSES),
    });
    const rows = fc.uniqueArray(row, { selector: ({ id }) => id, maxLength: 25 });
    const status = fc.constantFrom(null, "active", "draft");
    await fc.assert(
      fc.asyncProperty(rows, fc.integer({ min: 1, max: 10 }), status, async (campaigns, limit, wanted) => {
        await sql`DELETE FROM campaigns WHERE organization_id = ${walker.organizationId}`;
        for (const { id, at, status } of campaigns) {
          await sql`INSERT INTO campaigns (organization_id, id, name, status, created_at)
            VALUES (${walker.organizationId}, ${id}, 'Walked', ${status}, ${at}::text::timestamptz)`;
        }
        const expected = await sql`SELECT id FROM campaigns WHERE organization_id = ${walker.organizationId}
          AND (${wanted}::text IS NULL OR status = ${wanted}) ORDER BY created_at DESC, id DESC`;
        const ids = await walkPages(
          (query) => list(query, walker.token),
          `limit=${limit}${wanted === null ? "&q=walk" : `&status=${wanted}`}`,
        );
        expect(ids).toEqual(expected.map(({ id }) => id));
      }),
      { numRuns: 20 },
    );
  });

  test("has 50 campaigns a page unless told otherwise, and 200 at most", async () => {
    await sql`INSERT INTO campaigns (organization_id, id, name, status)
      SELECT ${walker.organizationId}, gen_random_uuid(), 'Many', 'draft' FROM generate_series(1, 201)`;
    const pages = await Promise.all(["", "?limit=1", "?limit=200"].map((query) => list(query, walker.token)));
    expect(pages.map(({ body }) => body.data.length)).toEqual([50, 1, 200]);
  });

  test("takes a cursor for its own status, q and organization only", async () => {
    for (const name of ["Cursor 1", "Cursor 2"]) {
      await made({ name, status: "archived" });
      await made({ name, status: "archived" }, stranger);
    }
    const cursor = (await list("?limit=1&status=archived")).body.next_cursor;
    expect((await list(`?status=archived&cursor=${cursor}`)).status).toBe(200);
    const stolen = await list(`?status=archived&cursor=${cursor}`, stranger.token);
    for (const reply of [
      stolen,
      await list(`?cursor=${cursor}`),
      await list(`?status=draft&cursor=${cursor}`),
      await list(`?status=archived&q=cursor&cursor=${cursor}`),
      await list(`?status=archived&cursor=${cursor.slice(0, -8)}`),
    ]) {
      expectProblem(reply, 422, "invalid_cursor");
    }
  });

  test.each([
    ["limit=0", "limit"],
    ["limit=201", "limit"],
    ["limit=1&limit=2", "limit"],
    ["status=running", "status"],
    ["status=", "status"],
    ["status=draft&status=active", "status"],
    ["q=", "q"],
    ["q=%00", "q"],
    ["q=a&q=b", "q"],
    ["cursor=", "cursor"],
    ["x=1", "x"],
  ])("?%s is 422 and names the parameter", async (query, field) => {
    const reply = await list(`?${query}`);
    expectProblem(reply, 422, "validation_failed");
    expect(new Set(reply.body.errors.map((issue: { field: string }) => issue.field))).toEqual(new Set([field]));
  });
});

describe("access", () => {
  test("is 401 without a credential and 403 without the scope", async () => {
    expectProblem(await quayside.call("GET", "/v1/crm/campaigns"), 401, "sign_in_required");
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

  test("to another organization's campaign is 404, and it is never listed", async () => {
    const { id } = await made({ name: "Private" });
    expectProblem(await read(id, stranger.token), 404, "not_found", `No campaign has the id ${id}.`);
    expect((await update({ id, name: "Stolen" }, stranger.token)).status).toBe(404);
    expect((await remove(id, stranger.token)).status).toBe(404);
    expect(await walkPages((query) => list(query, stranger.token), "limit=200")).not.toContain(id);
    expect((await read(id)).body.name).toBe("Private");
  });

  test.each([NO_SUCH_ID, "not-a-uuid", "a%00b", "%F0%9F%9A%80"])("by the id %s is 404", async (id) => {
    expectProblem(await read(id), 404, "not_found");
  });

  test.each(["POST", "PUT", "PATCH", "DELETE"])("by %s is 405", async (method) => {
    for (const path of ["/v1/crm/campaigns", `/v1/crm/campaigns/${NO_SUCH_ID}`]) {
      const reply = await quayside.call(method, path, { token: owner.token });
      expectProblem(reply, 405, "method_not_allowed");
      expect(reply.headers.get("allow")).toBe("GET, HEAD, OPTIONS");
    }
  });
});
