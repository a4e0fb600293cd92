import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mutate } from "../support/call-procedure.ts";
import { expectProblem } from "../support/expect-errors.ts";
import { type People, signUpForPeople } from "../support/people.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";

const NO_SUCH_ID = "00000000-0000-4000-8000-000000000000";

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let people: People;
let stranger: People;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  sql = connectTo(quayside.databaseUrl);
  people = await signUpForPeople(quayside, "owner");
  stranger = await signUpForPeople(quayside, "stranger");
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

const record = (touchpoints: unknown, token = people.token) =>
  mutate(quayside, "crm.people.recordTouchpoints", { touchpoints }, token);
const timeline = async (id: string, query = "", by = people) => {
  const reply = await by.call("GET", `/${id}/timeline${query}`);
  expect(reply.status, reply.text).toBe(200);
  return reply.body.events as { id: string; type: string; occurredAt: string; title: string; data: object }[];
};
const typesOf = async (id: string) => (await timeline(id)).map(({ type }) => type);
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
const campaignOf = async ({ token }: People) =>
  (await mutate(quayside, "crm.campaigns.create", { name: "Spring" }, token)).body.id as string;

describe("a timeline", () => {
  test("tells touchpoints and the person's own changes, the newest first", async () => {
    const campaignId = await campaignOf(people);
    const id = await people.make({ name: "Ada", tags: ["a"] });
    await people.patch(id, { name: "Ada L.", tags: ["b"], attributes: { x: 1 } });
    const data = { subject: "Hi", deep: { constructor: [1] } };
    const given = [
      { personId: id, type: "email.opened", occurredAt: daysAgo(3), data, campaignId },
      { personId: id, type: "call.held", title: "Talked", occurredAt: daysAgo(1) },
      { personId: id, type: "something_of.my_own", occurredAt: daysAgo(2) },
    ];
    const { status, body } = await record(given);
    expect([status, body.ids.length]).toEqual([200, 3]);
    const events = await timeline(id);
    const own = events.slice(0, 4);
    expect(
      own
        .map(({ type, title }) => [type, title])
        .slice(0, 3)
        .sort(),
    ).toEqual([
      ["person.tagged", "Tagged b"],
      ["person.untagged", "Untagged a"],
      ["person.updated", "Changed name, attributes"],
    ]);
    expect(own[3]).toMatchObject({ type: "person.created", title: "Created", data: {} });
    const [opened, held, custom] = body.ids;
    expect(events.slice(4)).toEqual([
      { id: held, type: "call.held", occurredAt: given[1]?.occurredAt, title: "Talked", data: {} },
      {
        id: custom,
        type: "something_of.my_own",
        occurredAt: given[2]?.occurredAt,
        title: "Something of my own",
        data: {},
      },
      { id: opened, type: "email.opened", occurredAt: given[0]?.occurredAt, title: "Email opened", data, campaignId },
    ]);
  });

  test("keeps to its limit: 50, or what is asked for up to 200", async () => {
    const id = await people.make();
    await record(
      Array.from({ length: 220 }, (_, days) => ({ personId: id, type: "page.viewed", occurredAt: daysAgo(days + 1) })),
    );
    expect(await timeline(id)).toHaveLength(50);
    expect(await timeline(id, "?limit=200")).toHaveLength(200);
    expect((await timeline(id, "?limit=1"))[0]?.type).toBe("person.created");
    for (const [limit, message] of [
      ["0", /must be at least 1/],
      ["201", /must be at most 200/],
      ["1.5", /must be a whole number such as 20, not '1.5'/],
      ["x", /must be a number such as 20, not 'x'/],
      ["1&limit=2", /was given 2 times; give it once/],
      ["1&cursor=x", /'cursor' is not valid: This field is not known here/],
    ] as const) {
      expectProblem(await people.call("GET", `/${id}/timeline?limit=${limit}`), 422, "validation_failed", message);
    }
  });

  test("has the same order, page for page, for events of one moment", async () => {
    const id = await people.make();
    const occurredAt = daysAgo(1);
    await record(Array.from({ length: 30 }, () => ({ personId: id, type: "page.viewed", occurredAt })));
    const whole = await timeline(id);
    expect(await timeline(id)).toEqual(whole);
    expect(await timeline(id, "?limit=10")).toEqual(whole.slice(0, 10));
  });

  test("is shown to who may read, and to no other organization", async () => {
    const id = await people.make();
    expectProblem(await quayside.call("GET", `/v1/crm/people/${id}/timeline`), 401, "sign_in_required");
    expect(await timeline(id, "", stranger)).toEqual([]);
  });

  test("is gone with its person", async () => {
    const id = await people.make({ name: "Gone", email: "gone@timeline.example" });
    await record([{ personId: id, type: "call.held" }]);
    expect((await mutate(quayside, "crm.people.delete", { id }, stranger.token)).status).toBe(404);
    expect((await mutate(quayside, "crm.people.delete", { id }, people.token)).status).toBe(200);
    expectProblem(await people.read(id), 404, "not_found");
    expect(await timeline(id)).toEqual([]);
    expect((await mutate(quayside, "crm.people.delete", { id }, people.token)).status).toBe(404);
    expect(await sql`SELECT 1 FROM timeline_events WHERE person_id = ${id}`).toEqual([]);
    expect((await people.upsert(id, {})).status).toBe(201);
    expect(await typesOf(id)).toEqual(["person.created"]);
  });
});

describe("touchpoints are recorded", () => {
  test("all or none of them, naming each that is wrong", async () => {
    const id = await people.make();
    const foreign = await campaignOf(stranger);
    const reply = await record([
      { personId: id, type: "call.held" },
      { personId: NO_SUCH_ID, type: "call.held" },
      { personId: id, type: "call.held", campaignId: foreign },
      { personId: id, type: "call.held", occurredAt: new Date(Date.now() + 600_000).toISOString() },
    ]);
    expect([reply.status, reply.body.data.errorCode]).toEqual([422, "validation_failed"]);
    expect(reply.body.data.issues.map(({ field }: { field: string }) => field)).toEqual([
      "touchpoints.1.personId",
      "touchpoints.2.campaignId",
      "touchpoints.3.occurredAt",
    ]);
    expect(await typesOf(id)).toEqual(["person.created"]);
  });

  test("of no other organization's people", async () => {
    const id = await stranger.make();
    const reply = await record([{ personId: id, type: "call.held" }]);
    expect([reply.status, reply.body.data.issues[0].message]).toEqual([422, `No person has the id ${id}.`]);
    expect((await timeline(id, "", stranger)).length).toBe(1);
  });

  test.each([
    ["without a zone", "2026-01-31T12:00:00"],
    ["without a time", "2026-01-31"],
    ["as seconds", 1_767_225_600],
    ["in words", "yesterday"],
    ["on a day that is none", "2026-02-30T12:00:00Z"],
    ["before the year 1", "0000-06-01T00:00:00Z"],
    ["before the year 1 in its zone", "0001-01-01T00:00:00+14:00"],
    ["empty", ""],
    ["null", null],
  ])("at a time that can be understood; refused is one %s", async (_, occurredAt) => {
    const id = await people.make();
    const reply = await record([{ personId: id, type: "call.held", occurredAt }]);
    expect([reply.status, reply.body.data.errorCode], reply.text).toEqual([422, "validation_failed"]);
    expect(reply.body.data.issues[0].field).toBe("touchpoints.0.occurredAt");
    expect(await typesOf(id)).toEqual(["person.created"]);
  });

  test.each([
    ["2026-01-31T12:00:00+05:45", "2026-01-31T06:15:00.000Z"],
    ["2026-01-31T12:00:00.123456Z", "2026-01-31T12:00:00.123Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
    ["1900-01-01T00:00:00Z", "1900-01-01T00:00:00.000Z"],
    ["1938-06-01T00:00:00Z", "1938-06-01T00:00:00.000Z"],
  ])("at the time %s, however long ago", async (occurredAt, told) => {
    const id = await people.make();
    expect((await record([{ personId: id, type: "purchase.made", occurredAt }])).status).toBe(200);
    expect((await timeline(id)).at(-1)).toMatchObject({ type: "purchase.made", occurredAt: told });
    expect((await people.patch(id, { name: "Still changeable" })).status).toBe(200);
  });

  test("by clocks that are a little ahead", async () => {
    const id = await people.make();
    const occurredAt = new Date(Date.now() + 240_000).toISOString();
    expect((await record([{ personId: id, type: "call.held", occurredAt }])).status).toBe(200);
  });

  test.each([
    ["type", { type: "Call Held" }],
    ["type", { type: "person.created" }],
    ["type", { type: "call." }],
    ["type", { type: `a${"b".repeat(100)}` }],
    ["title", { title: "" }],
    ["title", { title: "t".repeat(501) }],
    ["title", { title: "\u0000" }],
    ["data", { data: { a: "\u0000" } }],
    ["data", { data: [] }],
    ["campaignId", { campaignId: "x" }],
    ["personId", { personId: "x" }],
    ["weight", { weight: 1_000 }],
  ])("with a fitting %s only: %j", async (field, wrong) => {
    const id = await people.make();
    const reply = await record([{ personId: id, type: "call.held", ...wrong }]);
    expect([reply.status, reply.body.data.issues[0].field.split(".")[2]], reply.text).toEqual([422, field]);
    expect(await typesOf(id)).toEqual(["person.created"]);
  });

  test("1 to 1,000 at once", async () => {
    const id = await people.make();
    const many = (count: number) => Array.from({ length: count }, () => ({ personId: id, type: "email.sent" }));
    expect((await record(many(1_001))).body.data.issues[0].message).toMatch(
      /not have more than 1000 items; this has 1001/,
    );
    expect((await record([])).status).toBe(422);
    expect((await record(many(1_000))).body.ids).toHaveLength(1_000);
    expect(await timeline(id, "?limit=200")).toHaveLength(200);
  });

  test("by who may write", async () => {
    const id = await people.make();
    const reader = await quayside.makeKey(people.token, { scopes: ["read"] });
    const one = [{ personId: id, type: "call.held" }];
    expect((await record(one, reader.secret)).body.data.errorCode).toBe("insufficient_scope");
    expect((await record(one, "")).body.data.errorCode).toBe("sign_in_required");
    expect((await mutate(quayside, "crm.people.delete", { id }, reader.secret)).body.data.errorCode).toBe(
      "insufficient_scope",
    );
  });

  test("without a change of the person, whose record stays as it is but for the score", async () => {
    const id = await people.make({ name: "Ada" });
    const { score, ...before } = (await people.read(id)).body;
    await record([{ personId: id, type: "meeting.held" }]);
    const { score: after, ...rest } = (await people.read(id)).body;
    expect([rest, after]).toEqual([before, score + 20]);
  });

  test("as JSON without '__proto__' in it", async () => {
    const id = randomUUID();
    await people.upsert(id, {});
    const send = (data: string) =>
      mutate(
        quayside,
        "crm.people.recordTouchpoints",
        `{"touchpoints":[{"personId":"${id}","type":"call.held","data":${data}}]}`,
        people.token,
      );
    const refused = await send('{"__proto__":{"admin":true}}');
    expect(refused.status).toBe(422);
    expect(refused.text).toContain("touchpoints.0.data.__proto__");
    expect((await send('{"constructor":{"prototype":{"admin":true}}}')).status).toBe(200);
    expect(Object.hasOwn(Object.prototype, "admin")).toBe(false);
    expect((await timeline(id)).find(({ type }) => type === "call.held")?.data).toEqual({
      constructor: { prototype: { admin: true } },
    });
  });
});
