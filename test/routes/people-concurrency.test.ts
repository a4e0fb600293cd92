import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mutate } from "../support/call-procedure.ts";
import { expectProblem } from "../support/expect-errors.ts";
import { holdLock, waitingSessions } from "../support/held-lock.ts";
import { freshIds, idsIn, type People, signUpForPeople } from "../support/people.ts";
import { type Reply, startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";

const AT_ONCE = 20;

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let people: People;
let emails = 0;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  sql = connectTo(quayside.databaseUrl);
  people = await signUpForPeople(quayside, "owner");
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

const freshEmail = () => `c${++emails}@concurrent.example`;
const atOnce = (send: (index: number) => Promise<Reply>) =>
  Promise.all(Array.from({ length: AT_ONCE }, (_, index) => send(index)));
const statusesOf = (replies: Reply[]) => replies.map(({ status }) => status).sort();
const upsert = (data: object) => ({ op: "upsert", data });
const holdersOf = async (email: string) => idsIn(await people.list(`filter[email]=${email}`));
const numbers = (prefix: string) =>
  Object.fromEntries(Array.from({ length: AT_ONCE }, (_, index) => [`${prefix}${index}`, index]));

describe("twenty callers at once", () => {
  test("who upsert one new id make one person, with what each of them brought", async () => {
    const id = randomUUID();
    const replies = await atOnce((index) => people.upsert(id, { attributes: { [`a${index}`]: index } }));
    expect(statusesOf(replies)).toEqual([...Array.from({ length: AT_ONCE - 1 }, () => 200), 201]);
    expect((await people.read(id)).body.attributes).toEqual(numbers("a"));
    const { body } = await people.call("GET", `/${id}/timeline`);
    const types = body.events.map(({ type }: { type: string }) => type);
    expect(types.filter((type: string) => type === "person.created")).toHaveLength(1);
    expect(types).toHaveLength(AT_ONCE);
  });

  test("who bring one new email make one person, with what each of them brought", async () => {
    const email = freshEmail();
    const replies = await atOnce((index) => {
      const written = index % 2 === 0 ? email : email.toUpperCase();
      return people.bulk([upsert({ email: written, attributes: { [`a${index}`]: index } })]);
    });
    expect(new Set(replies.map(({ body }) => body.results[0].personId)).size).toBe(1);
    expect(await holdersOf(email)).toHaveLength(1);
    expect((await people.read(replies[0]?.body.results[0].personId)).body.attributes).toEqual(numbers("a"));
  });

  test("who change different attributes and tags of one person lose nothing", async () => {
    const id = await people.make();
    const replies = await atOnce((index) =>
      index % 2 === 0
        ? people.patch(id, { attributes: { [`a${index}`]: index } })
        : people.bulk([{ op: "tag", personId: id, tag: `t${index}` }]),
    );
    expect(new Set(statusesOf(replies))).toEqual(new Set([200]));
    const { body } = await people.read(id);
    expect(Object.keys(body.attributes)).toHaveLength(AT_ONCE / 2);
    expect(new Set(body.tags).size).toBe(AT_ONCE / 2);
  });

  test("who record touchpoints of one person lose none of its engagement", async () => {
    const [id, alone] = [await people.make(), await people.make()];
    const occurredAt = new Date().toISOString();
    const record = (personId: string, count: number) => {
      const touchpoints = Array.from({ length: count }, () => ({ personId, type: "email.opened", occurredAt }));
      return mutate(quayside, "crm.people.recordTouchpoints", { touchpoints }, people.token);
    };
    await atOnce(() => record(id, 1));
    await record(alone, AT_ONCE);
    const rows = await sql<
      { engagement_total: number }[]
    >`SELECT engagement_total FROM people WHERE id IN (${id}, ${alone})`;
    expect(rows.map(({ engagement_total }) => engagement_total)).toEqual([AT_ONCE, AT_ONCE]);
    expect((await people.read(id)).body.score).toBe((await people.read(alone)).body.score);
  });
});

describe("calls that cross each other", () => {
  test("by id and by email make one person of an email, or two only when the id came second", async () => {
    for (let round = 0; round < 10; round++) {
      const [id, email] = [randomUUID(), freshEmail()];
      const [byId, byEmail] = await Promise.all([
        people.upsert(id, { email, name: "By id" }),
        people.bulk([upsert({ email, attributes: { by: "email" } })]),
      ]);
      const found = byEmail.body.results[0].personId;
      const holders = await holdersOf(email);
      expect([byId.status, byEmail.body.failed, holders.length]).toEqual([201, 0, found === id ? 1 : 2]);
      expect(holders.sort()).toEqual([...new Set([id, found])].sort());
    }
  });

  test("that name the same people in opposite orders do not wait for each other for ever", async () => {
    const ids = freshIds(60);
    const existing = ids.slice(0, 30);
    await people.bulk(existing.map((id) => upsert({ id, email: `${id}@crossing.example` })));
    const operations = ids.map((id) => upsert({ id, email: `${id}@crossing.example`, name: "Crossed" }));
    const byEmail = ids.map((id) => upsert({ email: `${id}@crossing.example`, attributes: { seen: true } }));
    const replies = await Promise.all([
      ...Array.from({ length: 4 }, () => [people.bulk(operations), people.bulk(operations.toReversed())]).flat(),
      ...Array.from({ length: 2 }, () => [people.bulk(byEmail), people.bulk(byEmail.toReversed())]).flat(),
      ...existing.map((id) => people.patch(id, { tags: ["patched"] })),
      ...existing.toReversed().map((id) => people.upsert(id, { email: `${id}@elsewhere.example` })),
    ]);
    expect(replies.filter(({ status }) => status !== 200).map(({ text }) => text)).toEqual([]);
    // An email may have got a second holder meanwhile, which one operation is then told; anything else is a fault.
    const errors = replies.flatMap(({ body }) => body.results ?? []).filter(({ ok }: { ok: boolean }) => !ok);
    expect(errors.filter(({ error }: { error: string }) => !/belongs to \d people/.test(error))).toEqual([]);
    for (const id of existing) expect((await people.read(id)).body).toMatchObject({ id });
  });

  test("of an upsert and a deletion leave the person whole or gone", async () => {
    for (let round = 0; round < 10; round++) {
      const id = await people.make({ name: "Before", tags: ["t"] });
      const [changed, deleted] = await Promise.all([
        people.upsert(id, { attributes: { x: 1 } }),
        mutate(quayside, "crm.people.delete", { id }, people.token),
      ]);
      expect([200, 201]).toContain(changed.status);
      expect(deleted.status).toBe(200);
      const after = await people.read(id);
      // Changed first, then deleted; or deleted first, then made anew with nothing of the old one.
      if (changed.status === 200) expectProblem(after, 404, "not_found");
      else expect(after.body).toMatchObject({ name: null, tags: [], attributes: { x: 1 } });
    }
  });
});

describe("a person who is merged into another", () => {
  /** What a merge does to the rows, in one transaction. */
  const mergeStatements = (from: string, to: string) => `
    DELETE FROM people WHERE organization_id = '${people.organizationId}' AND id = '${from}';
    INSERT INTO person_redirects (organization_id, id, person_id) VALUES ('${people.organizationId}', '${from}', '${to}')`;

  test("while a change waits for them is changed as the other, and not made anew", async () => {
    for (const change of [
      (id: string) => people.upsert(id, { attributes: { late: true } }),
      (id: string) => people.patch(id, { attributes: { late: true } }),
      (id: string) => people.bulk([upsert({ id, attributes: { late: true } })]),
    ]) {
      const [from, to] = [await people.make({ name: "From" }), await people.make({ name: "To" })];
      const merge = await holdLock(sql, mergeStatements(from, to));
      const changing = change(from);
      await waitingSessions(sql);
      await merge();
      const reply = await changing;
      expect([reply.status, reply.body.id ?? reply.body.results[0].personId]).toEqual([200, to]);
      expect((await people.read(from)).body).toMatchObject({ id: to, name: "To", attributes: { late: true } });
      expect(await sql`SELECT 1 FROM people WHERE id = ${from}`).toEqual([]);
    }
  });

  test("is reached by the old id everywhere", async () => {
    const [from, to] = [await people.make({ name: "From" }), await people.make({ name: "To", tags: ["t"] })];
    await (await holdLock(sql, mergeStatements(from, to)))();
    expect((await people.read(from)).body).toMatchObject({ id: to, name: "To" });
    expect((await people.patch(from, { name: "By the old id" })).body).toMatchObject({ id: to });
    const upserted = await people.upsert(from, { attributes: { x: 1 } });
    expect([upserted.status, upserted.body.id]).toEqual([200, to]);
    const bulk = await people.bulk([
      { op: "tag", personId: from, tag: "u" },
      upsert({ id: from, name: "Last" }),
      { op: "untag", personId: to, tag: "t" },
    ]);
    expect(bulk.body.results.map(({ personId }: { personId: string }) => personId)).toEqual([to, to, to]);
    expect((await people.call("GET", `/${from}/score-explain`)).body.personId).toBe(to);
    const touchpoints = [{ personId: from, type: "call.held" }];
    expect((await mutate(quayside, "crm.people.recordTouchpoints", { touchpoints }, people.token)).status).toBe(200);
    const events = await people.call("GET", `/${from}/timeline`);
    expect(events.body.events.some(({ type }: { type: string }) => type === "call.held")).toBe(true);
    expect((await people.read(to)).body).toMatchObject({ name: "Last", tags: ["u"], attributes: { x: 1 } });
  });
});
