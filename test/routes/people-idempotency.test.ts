import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectProblem } from "../support/expect-errors.ts";
import { holdLock, waitingSessions } from "../support/held-lock.ts";
import { namesIn, type People, signUpForPeople } from "../support/people.ts";
import { type Reply, startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let people: People;
let counter = 0;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  sql = connectTo(quayside.databaseUrl);
  people = await signUpForPeople(quayside, "owner");
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

const freshKey = () => `key-${++counter}`;
const withKey = (key: string) => ({ "idempotency-key": key });
const isReplay = ({ headers }: Reply) => headers.get("idempotency-replayed") === "true";
const keyRows = (key: string) => sql`SELECT 1 FROM idempotency_keys WHERE key = ${key}`;

/** The two doors that honour the header; each makes one person of a name. */
const doors = [
  {
    door: "upsert",
    send: (id: string, name: string, headers: Record<string, string>) => people.upsert(id, { name }, headers),
    status: 201,
    again: 200,
  },
  {
    door: "bulk",
    send: (id: string, name: string, headers: Record<string, string>) =>
      people.bulk([{ op: "upsert", data: { id, name } }], headers),
    status: 200,
    again: 200,
  },
] as const;

describe.each(doors)("an Idempotency-Key on $door", ({ send, status, again }) => {
  test("replays the first answer byte for byte, with its status, and does nothing twice", async () => {
    const [id, key] = [randomUUID(), freshKey()];
    const first = await send(id, "First \u00e9", withKey(key));
    await people.patch(id, { name: "Changed since" });
    const second = await send(id, "First \u00e9", withKey(key));
    expect([first.status, isReplay(first), second.status, isReplay(second)]).toEqual([status, false, status, true]);
    expect(second.text).toBe(first.text);
    expect((await people.read(id)).body.name).toBe("Changed since");
  });

  test("is 409 with another body, of which nothing is done", async () => {
    const [id, key] = [randomUUID(), freshKey()];
    await send(id, "First", withKey(key));
    expectProblem(await send(id, "Second", withKey(key)), 409, "idempotency_key_reused");
    expect((await people.read(id)).body.name).toBe("First");
  });

  test("is 409 for another person, who is neither made nor answered with the first one", async () => {
    const [one, two, key] = [randomUUID(), randomUUID(), freshKey()];
    await send(one, "Same body", withKey(key));
    const reply = await send(two, "Same body", withKey(key));
    expectProblem(reply, 409, "idempotency_key_reused");
    expect(reply.text).not.toContain(one);
    expectProblem(await people.read(two), 404, "not_found");
  });

  test("lets one of many at once do the work; the others wait or are shown its answer", async () => {
    const [id, key] = [randomUUID(), freshKey()];
    const replies = await Promise.all(Array.from({ length: 10 }, () => send(id, "Rushed", withKey(key))));
    const [done, waiting] = [
      replies.filter((reply) => reply.status === status),
      replies.filter((reply) => reply.status === 409),
    ];
    expect(done.length + waiting.length).toBe(10);
    expect(done.filter((reply) => !isReplay(reply))).toHaveLength(1);
    expect(new Set(done.map(({ text }) => text)).size).toBe(1);
    for (const reply of waiting) {
      expectProblem(reply, 409, "idempotency_in_progress");
      expect(reply.headers.get("retry-after")).toBe("1");
    }
    const { body } = await people.call("GET", `/${id}/timeline`);
    expect(body.events).toHaveLength(1);
  });

  test("is the same in quotes and bare", async () => {
    const [id, key] = [randomUUID(), freshKey()];
    const bare = await send(id, "Quoted", withKey(key));
    const quoted = await send(id, "Quoted", withKey(`"${key}"`));
    expect([quoted.status, isReplay(quoted), quoted.text]).toEqual([status, true, bare.text]);
  });

  test.each(["", '""', "k".repeat(256), "schl\u00fcssel"])("that is none is 400: '%s'", async (key) => {
    const id = randomUUID();
    expectProblem(await send(id, "Bad key", withKey(key)), 400, "invalid_request", /1 to 255 printable ASCII/);
    expectProblem(await people.read(id), 404, "not_found");
  });

  test("is forgotten when the request is refused, so that it can be mended", async () => {
    const [id, key] = [randomUUID(), freshKey()];
    expectProblem(await send(id, " ", withKey(key)), 422, "validation_failed");
    const mended = await send(id, "Mended", withKey(key));
    expect([mended.status, isReplay(mended)]).toEqual([status, false]);
  });

  test("is another one in another organization, which learns nothing of the first", async () => {
    const [id, key] = [randomUUID(), freshKey()];
    await send(id, "Ours", withKey(key));
    const stranger = await signUpForPeople(quayside, `stranger${counter}`);
    const theirs = await stranger.upsert(id, { name: "Theirs" }, withKey(key));
    expect([theirs.status, theirs.body.name, isReplay(theirs)]).toEqual([201, "Theirs", false]);
  });

  test.each([
    ["at the first row", "LOCK TABLE people IN ACCESS EXCLUSIVE MODE"],
    ["between the person and the timeline", "LOCK TABLE timeline_events IN ACCESS EXCLUSIVE MODE"],
    ["at the very end", "LOCK TABLE idempotency_keys IN SHARE MODE"],
  ])("of a request whose database session is killed %s leaves nothing, and works again", async (_, lock) => {
    const [id, key] = [randomUUID(), freshKey()];
    const release = await holdLock(sql, lock);
    const dying = send(id, "Killed", withKey(key));
    const [pid] = await waitingSessions(sql);
    await sql`SELECT pg_terminate_backend(${pid ?? 0})`;
    const reply = await dying;
    expectProblem(reply, 503, "database_unavailable", "The database cannot be reached.");
    await release();
    expectProblem(await people.read(id), 404, "not_found");
    expect(await keyRows(key)).toHaveLength(0);
    expect(await sql`SELECT 1 FROM timeline_events WHERE person_id = ${id}`).toHaveLength(0);
    const retried = await send(id, "Killed", withKey(key));
    expect([retried.status, isReplay(retried)], retried.text).toEqual([status, false]);
    expect((await send(id, "Killed", withKey(key))).text).toBe(retried.text);
    expect((await send(id, "Killed", {})).status).toBe(again);
  });

  test("that is at work tells a second caller to wait, at once, and lets nobody else wait", async () => {
    const [id, key] = [randomUUID(), freshKey()];
    await people.make();
    const release = await holdLock(sql, "LOCK TABLE timeline_events IN ACCESS EXCLUSIVE MODE");
    const first = send(id, "Slow", withKey(key));
    await waitingSessions(sql);
    expectProblem(await send(id, "Slow", withKey(key)), 409, "idempotency_in_progress");
    expectProblem(await send(id, "Other", withKey(key)), 409, "idempotency_in_progress");
    await release();
    expect((await first).status).toBe(status);
    expect((await send(id, "Slow", withKey(key))).text).toBe((await first).text);
  });
});

test("a replay asks for the scope and the user that the first answer had", async () => {
  const [id, key] = [randomUUID(), freshKey()];
  await people.upsert(id, { name: "Guarded" }, withKey(key));
  const reader = await quayside.makeKey(people.token, { scopes: ["read"] });
  const path = `/v1/crm/people/${id}/upsert`;
  const body = { name: "Guarded" };
  const weak = await quayside.call("POST", path, { token: reader.secret, body, headers: withKey(key) });
  expectProblem(weak, 403, "insufficient_scope");
  expectProblem(await quayside.call("POST", path, { body, headers: withKey(key) }), 401, "sign_in_required");
  expect(weak.text).not.toContain("Guarded");
});

test("operations that failed among many are replayed as they were told", async () => {
  const [id, key] = [randomUUID(), freshKey()];
  const operations = [
    { op: "tag", personId: id, tag: "x" },
    { op: "upsert", data: { name: "One of many" } },
  ];
  const first = await people.bulk(operations, withKey(key));
  expect(first.body).toMatchObject({ succeeded: 1, failed: 1 });
  await people.upsert(id, {});
  expect((await people.bulk(operations, withKey(key))).text).toBe(first.text);
  expect(namesIn(await people.list("filter[name]=One of many"))).toHaveLength(1);
});
