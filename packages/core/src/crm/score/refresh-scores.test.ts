import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { asUser } from "../../../../../test/support/actors.ts";
import { openTestServices, type TestServices } from "../../../../../test/support/services.ts";
import type { Context } from "../../platform/context.ts";
import { type PersonState, STATE_COLUMNS } from "../people/person-state.ts";
import { upsertPerson } from "../people/upsert-person.ts";
import { recordTouchpoints } from "../timeline/record-touchpoints.ts";
import { explainScore } from "./explain-score.ts";
import { refreshScores } from "./refresh-scores.ts";
import { scorePerson } from "./score-person.ts";

const DAY_MS = 86_400_000;
const going = new AbortController().signal;

let world: TestServices;
let owner: Context;
let organizationId: string;

beforeEach(async () => {
  world = await openTestServices();
  owner = await asUser(world, "owner");
  organizationId = owner.principal?.organization.id ?? "";
});

afterEach(() => world?.close());

/** People with engagement of all sizes, as if touched just now, and due when the first point goes. */
async function engage(count: number, by = organizationId): Promise<void> {
  const now = world.clock.now().toISOString();
  await world.services.db.sql`
    INSERT INTO people (organization_id, id, engagement, engagement_at, engagement_total, score, score_due_at)
    SELECT ${by}, gen_random_uuid(), w, ${now}::timestamptz, w, round(40 * (1 - power(2, -w / 10))),
      ${now}::timestamptz + interval '1 hour'
    FROM (SELECT (g % 40 + 1)::float8 AS w FROM generate_series(1, ${count}) AS g) AS weights`;
}

const peopleNow = () =>
  world.services.db.sql<(PersonState & { dueAt: number | null })[]>`
    SELECT ${world.services.db.sql.unsafe(STATE_COLUMNS)}, (extract(epoch FROM score_due_at) * 1000)::float8 AS "dueAt"
    FROM people`;

/** Every stored score is what the explanation would say, and says itself when it will not be any more. */
async function expectFresh(): Promise<PersonState[]> {
  const [people, nowMs] = [await peopleNow(), world.clock.now().getTime()];
  for (const person of people) {
    const { score, components } = scorePerson(person, nowMs);
    expect(person.score).toBe(score);
    if (components.engagement === 0) expect(person.dueAt).toBeNull();
    else {
      expect(person.dueAt).toBeGreaterThan(nowMs);
      expect(scorePerson(person, person.dueAt ?? 0).score).toBe(score - 1);
    }
  }
  return people;
}

async function listen(by: string, events: string[]): Promise<void> {
  await world.services.db.sql`
    INSERT INTO webhook_endpoints (id, organization_id, area, name, url, events, secret, status)
    VALUES (${randomUUID()}, ${by}, 'crm', 'test', 'http://127.0.0.1:9/', ${events}, '', 'enabled')`;
}

const outbox = () =>
  world.services.db.sql<
    {
      organizationId: string;
      type: string;
      data: { person: { id: string; score: number }; from: number; to: number };
    }[]
  >`
    SELECT organization_id AS "organizationId", type, data FROM webhook_events`;

describe("refreshing scores", () => {
  test("brings each stored score to what its explanation says, in several batches", async () => {
    await engage(4_500);
    world.clock.advance(45 * DAY_MS);
    expect(await refreshScores(world.system, going)).toBe(4_500);
    const people = await expectFresh();
    expect(new Set(people.map(({ score }) => score)).size).toBeGreaterThan(10);
    const [one] = people;
    expect((await explainScore(owner, { id: one?.id ?? "" })).score).toBe(one?.score);
    expect(await refreshScores(world.system, going)).toBe(0);
  });

  test("is right at every moment that is looked at, until nothing is left", async () => {
    await engage(40);
    for (const days of [1, 0.1, 3, 30, 60, 200, 400]) {
      world.clock.advance(days * DAY_MS);
      await refreshScores(world.system, going);
      await expectFresh();
    }
    expect((await peopleNow()).every(({ score, dueAt }) => score === 0 && dueAt === null)).toBe(true);
  });

  test("touches nobody before a point is lost, and then that one", async () => {
    const { person } = await upsertPerson(owner, { id: randomUUID(), name: "Ada" });
    await recordTouchpoints(owner, { touchpoints: [{ personId: person.id, type: "meeting.held" }] });
    const [before] = await expectFresh();
    const [due] = await peopleNow();
    world.clock.advance((due?.dueAt ?? 0) - world.clock.now().getTime() - 2);
    expect(await refreshScores(world.system, going)).toBe(0);
    await Promise.all(
      (await peopleNow()).map(({ id }) =>
        expect(explainScore(owner, { id })).resolves.toMatchObject({ score: before?.score }),
      ),
    );
    world.clock.advance(2);
    expect(await refreshScores(world.system, going)).toBe(1);
    const [after] = await expectFresh();
    expect(after?.score).toBe((before?.score ?? 0) - 1);
    // The person has not changed; only time has passed.
    expect(after?.updatedAt).toBe(before?.updatedAt);
  });

  test("shares the work of two processes: each person once, and each change told once", async () => {
    await listen(organizationId, ["person.score_changed"]);
    await engage(4_500);
    world.clock.advance(45 * DAY_MS);
    const counts = await Promise.all([1, 2].map(() => refreshScores(world.system, going)));
    // One of them may stop early because the other holds the rows that it would take.
    let left = 0;
    for (let count = -1; count !== 0; left += count) count = await refreshScores(world.system, going);
    expect(counts.reduce((sum, count) => sum + count, left)).toBe(4_500);
    await expectFresh();
    const told = await outbox();
    expect(new Set(told.map(({ data }) => data.person.id)).size).toBe(told.length);
  });

  test("tells endpoints that listen of each score that changed, in the organization that it is of", async () => {
    const [listening, deaf] = [await asUser(world, "listening"), await asUser(world, "deaf")];
    const [theirs, other] = [listening, deaf].map(({ principal }) => principal?.organization.id ?? "") as [
      string,
      string,
    ];
    await listen(theirs, ["person.score_changed"]);
    await listen(other, ["person.created"]);
    await engage(3);
    await engage(40, theirs);
    await engage(40, other);
    const before = new Map((await peopleNow()).map(({ id, score }) => [id, score]));
    world.clock.advance(30 * DAY_MS);
    expect(await refreshScores(world.system, going)).toBe(83);
    const told = await outbox();
    const changed = (await peopleNow()).filter(({ id, score }) => before.get(id) !== score);
    expect(new Set(told.map((event) => [event.organizationId, event.type].join()))).toEqual(
      new Set([[theirs, "person.score_changed"].join()]),
    );
    expect(told).toHaveLength(40);
    const scores = new Map(changed.map(({ id, score }) => [id, score]));
    for (const { data } of told) {
      expect([data.from, data.to]).toEqual([before.get(data.person.id), scores.get(data.person.id)]);
      expect(data.person.score).toBe(data.to);
      expect(data.to).toBeLessThan(data.from);
    }
  });

  test("leaves out people who are being changed, whose writer scores them", async () => {
    await engage(2);
    world.clock.advance(45 * DAY_MS);
    const [busy, free] = (await peopleNow()).map(({ id }) => id);
    const db = world.services.db;
    await db.orm.transaction(async (orm) => {
      await orm.execute(`SELECT 1 FROM people WHERE id = '${busy}' FOR UPDATE`);
      expect(await refreshScores(world.system, going)).toBe(1);
      const due = (await peopleNow()).filter(
        ({ dueAt }) => (dueAt ?? Number.POSITIVE_INFINITY) < world.clock.now().getTime(),
      );
      expect([due.map(({ id }) => id), free]).toEqual([[busy], free]);
    });
    expect(await refreshScores(world.system, going)).toBe(1);
    await expectFresh();
  });

  test("stops between batches when the process stops", async () => {
    await engage(10);
    world.clock.advance(45 * DAY_MS);
    expect(await refreshScores(world.system, AbortSignal.abort())).toBe(0);
  });

  test("is for the platform itself", async () => {
    await expect(refreshScores(owner, going)).rejects.toMatchObject({ code: "forbidden" });
  });
});
