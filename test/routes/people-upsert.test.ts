import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectProblem } from "../support/expect-errors.ts";
import { namesIn, type People, signUpForPeople } from "../support/people.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const NO_SUCH_ID = "00000000-0000-4000-8000-000000000000";

let quayside: TestQuayside;
let people: People;
let stranger: People;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  people = await signUpForPeople(quayside, "owner");
  stranger = await signUpForPeople(quayside, "stranger");
});

afterAll(() => quayside?.stop());

describe("an upsert", () => {
  test("is 201 with the whole record when the id is new, and 200 when it is not", async () => {
    const id = randomUUID();
    const fields = {
      email: "Ada@Acme.example",
      name: "Ada",
      tags: ["b", "a", "b"],
      attributes: { x: [1, { y: null }] },
    };
    const created = await people.upsert(id, fields);
    expect([created.status, created.body]).toEqual([
      201,
      {
        ...fields,
        id,
        domain: "acme.example",
        tags: ["b", "a"],
        score: expect.any(Number),
        companyId: expect.any(String),
        createdAt: expect.stringMatching(TIME),
        updatedAt: created.body.createdAt,
      },
    ]);
    const again = await people.upsert(id, { name: "Ada L." });
    expect([again.status, again.body]).toEqual([
      200,
      { ...created.body, name: "Ada L.", updatedAt: expect.stringMatching(TIME) },
    ]);
    expect((await people.read(id)).body).toEqual(again.body);
  });

  test("with nothing in it makes a person about whom nothing is known, and then changes nothing", async () => {
    const id = randomUUID();
    const made = await people.upsert(id, {});
    expect([made.status, made.body]).toMatchObject([201, { email: null, domain: null, name: null, tags: [] }]);
    const again = await people.call("POST", `/${id}/upsert`);
    expect([again.status, again.body]).toEqual([200, made.body]);
  });

  test("replaces tags, merges attributes and removes those that are null", async () => {
    const id = await people.make({ tags: ["a", "b"], attributes: { keep: 1, drop: 2, deep: { a: 1, b: 2 } } });
    const { body } = await people.upsert(id, {
      tags: ["c"],
      attributes: { drop: null, none: null, deep: { c: 3 }, new: false },
    });
    expect([body.tags, body.attributes]).toEqual([["c"], { keep: 1, deep: { c: 3 }, new: false }]);
    const emptied = await people.upsert(id, { tags: [], attributes: { keep: null, deep: null, new: null } });
    expect([emptied.body.tags, emptied.body.attributes]).toEqual([[], {}]);
  });

  test("that says what is so already leaves the time of the last change", async () => {
    const fields = {
      email: "same@acme.example",
      name: "Same",
      tags: ["a", "b"],
      attributes: { b: 1, a: { d: 1, c: [2] } },
    };
    const id = await people.make(fields);
    const before = (await people.read(id)).body;
    const again = await people.upsert(id, { ...fields, attributes: { a: { c: [2], d: 1 }, gone: null } });
    expect([again.status, again.body]).toEqual([200, before]);
    const { body } = await people.call("GET", `/${id}/timeline`);
    expect(body.events.map(({ type }: { type: string }) => type)).toEqual(["person.created"]);
  });

  test("takes an id in capitals for the same one", async () => {
    const id = randomUUID();
    const made = await people.upsert(id.toUpperCase(), { name: "Capital" });
    expect([made.status, made.body.id]).toEqual([201, id]);
    expect((await people.upsert(id, {})).status).toBe(200);
    expect((await people.read(id.toUpperCase())).body.name).toBe("Capital");
  });

  test("may give an email that another person has; the two are duplicates to find", async () => {
    const [one, two] = [
      await people.make({ email: "shared@acme.example" }),
      await people.make({ email: "SHARED@acme.example" }),
    ];
    const found = await people.list("filter[email]=shared@acme.example");
    expect(found.body.data.map(({ id }: { id: string }) => id).sort()).toEqual([one, two].sort());
  });

  test("asks for a credential that may write", async () => {
    const id = randomUUID();
    const reader = await quayside.makeKey(people.token, { scopes: ["read"] });
    const send = (token?: string) =>
      quayside.call("POST", `/v1/crm/people/${id}/upsert`, { body: {}, ...(token ? { token } : {}) });
    expectProblem(await send(), 401, "sign_in_required");
    expectProblem(await send(reader.secret), 403, "insufficient_scope");
    expectProblem(await people.read(id), 404, "not_found");
    const writer = await quayside.makeKey(people.token, { scopes: ["write"] });
    expect((await send(writer.secret)).status).toBe(201);
  });
});

describe("a change", () => {
  test("sets what is given and leaves the rest", async () => {
    const id = await people.make({ email: "patch@acme.example", name: "Before", tags: ["a"], attributes: { x: 1 } });
    const changed = await people.patch(id, { name: "After", attributes: { y: 2 } });
    expect([changed.status, changed.body]).toMatchObject([
      200,
      { id, name: "After", email: "patch@acme.example", tags: ["a"], attributes: { x: 1, y: 2 } },
    ]);
    expect((await people.read(id)).body).toEqual(changed.body);
    const nothing = await people.patch(id, {});
    expect([nothing.status, nothing.body]).toEqual([200, changed.body]);
  });

  test.each([
    ["email", { email: "x@acme.example" }],
    ["domain", { domain: "acme.example" }],
    ["score", { score: 100 }],
    ["companyId", { companyId: NO_SUCH_ID }],
    ["createdAt", { createdAt: "2020-01-01T00:00:00Z" }],
    ["organizationId", { organizationId: NO_SUCH_ID }],
  ])("does not know the field %s", async (field, body) => {
    const id = await people.make({ name: "Fixed" });
    const before = (await people.read(id)).body;
    const reply = await people.patch(id, body);
    expectProblem(reply, 422, "validation_failed", `'${field}' is not valid: This field is not known here.`);
    expect((await people.read(id)).body).toEqual(before);
  });

  test("asks for a credential that may write", async () => {
    const id = await people.make();
    const reader = await quayside.makeKey(people.token, { scopes: ["read"] });
    const body = { name: "x" };
    expectProblem(await quayside.call("PATCH", `/v1/crm/people/${id}`, { body }), 401, "sign_in_required");
    const weak = await quayside.call("PATCH", `/v1/crm/people/${id}`, { body, token: reader.secret });
    expectProblem(weak, 403, "insufficient_scope");
    expect((await people.read(id)).body.name).toBeNull();
  });
});

describe("an id", () => {
  test.each(["abc", "bulk", "1", NO_SUCH_ID.slice(1), `${NO_SUCH_ID}0`, "%00", "'--", "__proto__", "é"])(
    "that can be none is 404 everywhere: %s",
    async (id) => {
      const path = `/${encodeURIComponent(decodeURIComponent(id))}`;
      for (const [method, at, body] of [
        ["GET", path, undefined],
        ["PATCH", path, { name: "x" }],
        ["POST", `${path}/upsert`, { name: "x" }],
        ["GET", `${path}/score-explain`, undefined],
        ["GET", `${path}/timeline`, undefined],
      ] as const) {
        if (method === "PATCH" && id === "bulk") continue;
        expectProblem(await people.call(method, at, body ? { body } : {}), 404, "not_found", /must be a UUID/);
      }
    },
  );

  test("that nobody has is 404, and has no timeline", async () => {
    const message = `No person has the id ${NO_SUCH_ID}.`;
    expectProblem(await people.read(NO_SUCH_ID), 404, "not_found", message);
    expectProblem(await people.patch(NO_SUCH_ID, { name: "x" }), 404, "not_found", message);
    expectProblem(await people.call("GET", `/${NO_SUCH_ID}/score-explain`), 404, "not_found", message);
    const timeline = await people.call("GET", `/${NO_SUCH_ID}/timeline`);
    expect([timeline.status, timeline.body]).toEqual([200, { events: [] }]);
  });

  test("in the body too is 400, even the right one", async () => {
    const id = randomUUID();
    expectProblem(await people.upsert(id, { id }), 400, "invalid_request", /'id' is part of the path/);
    expectProblem(await people.read(id), 404, "not_found");
  });
});

describe("another organization's person", () => {
  test("is 404 for reading, changing, explaining, and has an empty timeline", async () => {
    const id = await people.make({ name: "Secret Name", email: "secret@acme.example", tags: ["secret-tag"] });
    const replies = [
      await stranger.read(id),
      await stranger.patch(id, { name: "Stolen" }),
      await stranger.call("GET", `/${id}/score-explain`),
    ];
    for (const reply of replies) {
      expectProblem(reply, 404, "not_found", `No person has the id ${id}.`);
      expect(reply.text).not.toMatch(/secret/i);
    }
    expect((await stranger.call("GET", `/${id}/timeline`)).body).toEqual({ events: [] });
    const tagged = await stranger.bulk([{ op: "tag", personId: id, tag: "x" }]);
    expect(tagged.body).toMatchObject({ succeeded: 0, failed: 1 });
    expect((await people.read(id)).body).toMatchObject({ name: "Secret Name", tags: ["secret-tag"] });
  });

  test("does not stand in the way of one's own of the same id", async () => {
    const id = await people.make({ name: "Theirs", email: "theirs@acme.example", attributes: { secret: 1 } });
    const mine = await stranger.upsert(id, { name: "Mine" });
    expect([mine.status, mine.body]).toMatchObject([
      201,
      { id, name: "Mine", email: null, attributes: {}, companyId: null },
    ]);
    expect((await people.read(id)).body).toMatchObject({ name: "Theirs", attributes: { secret: 1 } });
    const bulk = await stranger.bulk([{ op: "upsert", data: { email: "theirs@acme.example", name: "Own" } }]);
    expect(bulk.body.results[0].personId).not.toBe(id);
    expect(namesIn(await people.list("filter[email]=theirs@acme.example"))).toEqual(["Theirs"]);
    expect((await stranger.call("GET", `/${id}/timeline`)).body.events).toHaveLength(1);
  });

  test("is not counted", async () => {
    const lonely = await signUpForPeople(quayside, "lonely");
    const { body } = await quayside.call("GET", "/v1/crm/stats", { token: lonely.token });
    expect(body).toEqual({ people: 0, companies: 0 });
  });
});
