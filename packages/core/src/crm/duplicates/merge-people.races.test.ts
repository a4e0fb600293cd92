import { randomUUID } from "node:crypto";
import { PlatformError } from "@quayside/contracts";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asUser } from "../../../../../test/support/actors.ts";
import { openTestServices, type TestServices } from "../../../../../test/support/services.ts";
import { until } from "../../../../../test/support/until.ts";
import type { Context } from "../../platform/context.ts";
import { createCampaign } from "../campaigns/create-campaign.ts";
import { deleteCampaign } from "../campaigns/delete-campaign.ts";
import { bulkPeople } from "../people/bulk-people.ts";
import { deletePerson } from "../people/delete-person.ts";
import { readPerson } from "../people/read-person.ts";
import { updatePerson } from "../people/update-person.ts";
import { upsertPerson } from "../people/upsert-person.ts";
import { recordTouchpoints } from "../timeline/record-touchpoints.ts";
import { dismissDuplicate } from "./dismiss-duplicate.ts";
import { mergePeople } from "./merge-people.ts";
import { undoMerge } from "./undo-merge.ts";

const ROUNDS = 12;

let world: TestServices;
let ctx: Context;
let organizationId: string;
/** A connection of the test's own, to hold locks with. */
let sql: postgres.Sql;

beforeAll(async () => {
  world = await openTestServices();
  ctx = await asUser(world, "racer");
  organizationId = ctx.principal?.organization.id ?? "";
  sql = postgres(world.url, { max: 2, onnotice: () => undefined });
});

afterAll(async () => {
  await sql?.end();
  await world?.close();
});

async function add(fields: object = {}): Promise<string> {
  return (await upsertPerson(ctx, { id: randomUUID(), ...fields })).person.id;
}

/** Pairs whose rows stand in either order. */
async function addPair(fields: object = {}): Promise<[string, string]> {
  const [one, other] = [await add(fields), await add(fields)];
  return Math.random() < 0.5 ? [one, other] : [other, one];
}

/** Waits until each of these statements, and no other, waits for a lock; gives the first one's process id. */
function untilWaiting(statements: readonly string[]): Promise<number> {
  return until(`${statements.join(" and ")} wait`, async () => {
    const rows = await sql<{ pid: number; query: string }[]>`
      SELECT pid, query FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    const found = statements.map((statement) => rows.find(({ query }) => query.includes(statement)));
    return rows.length === statements.length && found.every(Boolean) ? found[0]?.pid : null;
  });
}

const merge = (survivorId: string, mergedId: string) => mergePeople(ctx, { survivorId, mergedId });

/** Error codes, or "done". Anything that callers would see as a fault of the server fails the test. */
async function outcomes(work: readonly Promise<unknown>[]): Promise<string[]> {
  const settled = await Promise.allSettled(work);
  return settled
    .map((result) => {
      if (result.status === "fulfilled") return "done";
      if (!(result.reason instanceof PlatformError)) throw result.reason;
      return result.reason.code;
    })
    .sort();
}

describe("at the same moment", () => {
  test("one pair is merged once", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const [a, b] = await addPair();
      expect(await outcomes(Array.from({ length: 4 }, () => merge(a, b)))).toEqual([
        ...["conflict", "conflict", "conflict", "done"],
      ]);
      expect((await readPerson(ctx, { id: b })).id).toBe(a);
    }
  });

  test("A into B beside B into A leaves one of them", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const [a, b] = await addPair({ tags: ["t"] });
      expect(await outcomes([merge(a, b), merge(b, a), merge(a, b), merge(b, a)])).toEqual([
        ...["conflict", "conflict", "conflict", "done"],
      ]);
      const [one, other] = [await readPerson(ctx, { id: a }), await readPerson(ctx, { id: b })];
      expect(one.id).toBe(other.id);
    }
  });

  test("a ring of merges leaves one living person for every id", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const ids = await Promise.all(Array.from({ length: 5 }, () => add()));
      const next = (index: number) => ids[(index + 1) % ids.length] ?? "";
      const done = (await outcomes(ids.map((id, index) => merge(next(index), id)))).filter((code) => code === "done");
      const living = new Set(await Promise.all(ids.map(async (id) => (await readPerson(ctx, { id })).id)));
      expect(living.size).toBe(ids.length - done.length);
    }
  });

  test("what is written under the merged id reaches the survivor", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const [survivor, merged] = await addPair();
      const touch = recordTouchpoints.bind(null, ctx, { touchpoints: [{ personId: merged, type: "call.held" }] });
      const told = await outcomes([
        upsertPerson(ctx, { id: merged, attributes: { upserted: round } }),
        merge(survivor, merged),
        updatePerson(ctx, { id: merged, attributes: { updated: round } }),
        bulkPeople(ctx, { operations: [{ op: "tag", personId: merged, tag: "tagged" }] }),
        touch(),
      ]);
      expect(told).toEqual(["done", "done", "done", "done", "done"]);
      const person = await readPerson(ctx, { id: merged });
      expect(person).toMatchObject({ id: survivor, attributes: { upserted: round, updated: round }, tags: ["tagged"] });
      const [row] = await sql`
        SELECT count(*)::int AS touches, (SELECT engagement_total FROM people WHERE id = ${survivor}) AS total
        FROM timeline_events WHERE person_id = ${survivor} AND type = 'call.held'`;
      expect(row).toEqual({ touches: 1, total: 8 });
    }
  });

  test("an upsert by email beside the merge of who holds it makes nobody new", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const email = `round${round}@acme.com`;
      const [survivor, merged] = [await add(), await add({ email })];
      const upsert = () => bulkPeople(ctx, { operations: [{ op: "upsert", data: { email, tags: ["upserted"] } }] });
      const [, outcome] = await Promise.all([merge(survivor, merged), upsert()]);
      expect(outcome.results[0]).toMatchObject({ ok: true });
      expect(await readPerson(ctx, { id: survivor })).toMatchObject({ email, tags: ["upserted"] });
      expect(await sql`SELECT 1 FROM people WHERE lower(email) = ${email}`).toHaveLength(1);
    }
  });

  test("a merge is undone once, and what is written meanwhile stays", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const [survivor, merged] = await addPair();
      const { mergeId } = await merge(survivor, merged);
      const told = await outcomes([
        undoMerge(ctx, { mergeId }),
        upsertPerson(ctx, { id: merged, attributes: { upserted: round } }),
        undoMerge(ctx, { mergeId }),
      ]);
      expect(told).toEqual(["conflict", "done", "done"]);
      const both = [await readPerson(ctx, { id: survivor }), await readPerson(ctx, { id: merged })];
      expect(both.map(({ id }) => id)).toEqual([survivor, merged]);
      expect(both.filter(({ attributes }) => attributes?.upserted === round)).toHaveLength(1);
    }
  });

  test("an upsert by email beside an undo finds the restored person, and makes nobody new", async () => {
    const email = "restored@acme.com";
    const [survivor, merged] = [await add(), await add({ email })];
    const { mergeId } = await merge(survivor, merged);
    const upsert = () => bulkPeople(ctx, { operations: [{ op: "upsert", data: { email, tags: ["upserted"] } }] });
    let work: Promise<unknown>[] = [];
    await sql.begin(async (tx) => {
      await tx`SELECT 1 FROM person_redirects WHERE id = ${merged} FOR UPDATE`;
      work = [undoMerge(ctx, { mergeId })];
      await untilWaiting(["DELETE FROM person_redirects"]);
      work.push(upsert());
      await untilWaiting(["DELETE FROM person_redirects", ""]);
    });
    await Promise.all(work);
    expect(await readPerson(ctx, { id: merged })).toMatchObject({ id: merged, email, tags: ["upserted"] });
    expect(await sql`SELECT 1 FROM people WHERE lower(email) = ${email}`).toHaveLength(1);
  });

  test("a deletion by the id of somebody who is being merged deletes the survivor", async () => {
    const [survivor, merged] = [await add(), await add()];
    let work: Promise<unknown>[] = [];
    await sql.begin(async (tx) => {
      // The merge waits at its redirect, with both people locked.
      await tx`INSERT INTO person_redirects (organization_id, id, person_id)
        VALUES (${organizationId}, ${merged}, ${await add()})`;
      work = [merge(survivor, merged)];
      await untilWaiting(["INSERT INTO person_redirects"]);
      work.push(deletePerson(ctx, { id: merged }));
      await untilWaiting(["INSERT INTO person_redirects", "FROM people"]);
      await tx`DELETE FROM person_redirects WHERE id = ${merged}`;
    });
    await Promise.all(work);
    await expect(readPerson(ctx, { id: survivor })).rejects.toMatchObject({ code: "not_found" });
  });

  test("deletions and dismissals beside a merge are done or refused", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const [survivor, merged] = await addPair();
      await outcomes([
        dismissDuplicate(ctx, { firstId: survivor, secondId: merged }),
        merge(survivor, merged),
        dismissDuplicate(ctx, { firstId: merged, secondId: survivor }),
        deletePerson(ctx, { id: round % 2 === 0 ? survivor : merged }),
      ]);
      const rows = await sql`
        SELECT 1 FROM duplicate_dismissals WHERE ${merged} IN (first_id, second_id)
        AND NOT EXISTS (SELECT 1 FROM people WHERE id = ${merged})`;
      expect(rows).toHaveLength(0);
    }
  });

  test("a campaign is deleted beside merges of those whom it touched", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const campaign = await createCampaign(ctx, { name: "Spring", status: "active" });
      const ids = await Promise.all(Array.from({ length: 4 }, () => add()));
      const touch = (personId: string) => ({ personId, type: "email.opened", campaignId: campaign.id });
      await recordTouchpoints(ctx, { touchpoints: Array.from({ length: 5 }, () => ids.map(touch)).flat() });
      const [a = "", b = "", c = "", d = ""] = ids;
      expect(await outcomes([merge(a, b), deleteCampaign(ctx, { id: campaign.id }), merge(c, d)])).toEqual([
        ...["done", "done", "done"],
      ]);
      const rows = await sql`
        SELECT campaign_id FROM timeline_events WHERE person_id IN (${a}, ${c}) AND type = 'email.opened'`;
      expect([rows.length, rows.filter((row) => row.campaign_id !== null).length]).toEqual([20, 0]);
    }
  });
});

/** Everything of these people, in whatever table. */
async function everything() {
  const tables = ["people", "timeline_events", "person_redirects", "person_merges", "audit_events", "webhook_events"];
  const rows = await Promise.all(
    tables.map((table) =>
      sql.unsafe(`SELECT * FROM ${table} WHERE organization_id = $1 ORDER BY id`, [organizationId]),
    ),
  );
  const aliases = await sql`
    SELECT * FROM person_email_aliases WHERE organization_id = ${organizationId} ORDER BY email, person_id`;
  return [...rows, aliases].map((found) => [...found]);
}

/** Ends the connection that waits for a lock in this statement, as a crash of the process would. */
async function killWaiting(statement: string): Promise<void> {
  const pid = await untilWaiting([statement]);
  await sql`SELECT pg_terminate_backend(${pid})`;
}

describe("a connection that dies in the midst of", () => {
  test("a merge leaves nothing half-done", async () => {
    const [survivor, merged, third] = [await add({ name: "S" }), await add({ name: "M", tags: ["t"] }), await add()];
    await recordTouchpoints(ctx, { touchpoints: [{ personId: merged, type: "call.held" }] });
    const before = await everything();
    await sql.begin(async (tx) => {
      // The merge waits at its redirect, when it has moved the timeline already.
      await tx`INSERT INTO person_redirects (organization_id, id, person_id)
        VALUES (${organizationId}, ${merged}, ${third})`;
      const merging = merge(survivor, merged).catch((error: unknown) => error);
      await killWaiting("INSERT INTO person_redirects");
      expect(await merging).toBeInstanceOf(Error);
      await tx`DELETE FROM person_redirects WHERE id = ${merged}`;
    });
    expect(await everything()).toEqual(before);
    expect((await merge(survivor, merged)).person).toMatchObject({ id: survivor, tags: ["t"] });
  });

  test("an undo leaves the merge as it was", async () => {
    const emails = ["s", "m", "t"].map((name) => ({ email: `${name}@killed.example` }));
    const [survivor = "", merged = "", third = ""] = await Promise.all(emails.map(add));
    await merge(merged, third);
    const { mergeId } = await merge(survivor, merged);
    const before = await everything();
    await sql.begin(async (tx) => {
      await tx`SELECT 1 FROM person_redirects WHERE id = ${merged} FOR UPDATE`;
      const undoing = undoMerge(ctx, { mergeId }).catch((error: unknown) => error);
      await killWaiting("DELETE FROM person_redirects");
      expect(await undoing).toBeInstanceOf(Error);
    });
    expect(await everything()).toEqual(before);
    expect((await undoMerge(ctx, { mergeId })).restored.id).toBe(merged);
    expect((await readPerson(ctx, { id: third })).id).toBe(merged);
  });
});
