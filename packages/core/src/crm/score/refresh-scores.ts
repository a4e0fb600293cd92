import { type Database, withTransaction } from "@quayside/db";
import { requireSystem } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { publishEvents } from "../../webhooks/index.ts";
import { type PersonState, STATE_COLUMNS, toPersonRecord } from "../people/person-state.ts";
import { nextScoreDrop, scorePerson } from "./score-person.ts";

const BATCH_PEOPLE = 2_000;
const MAX_BATCHES = 500;

type DuePerson = PersonState & { organizationId: string };

/**
 * Lowers the scores that decay has made due, up to a million a run. Each person says when the next point goes, so
 * only those are touched. Safe to run in several processes at once. Returns how many were looked at.
 */
export async function refreshScores(ctx: Context, stopping: AbortSignal): Promise<number> {
  requireSystem(ctx);
  let total = 0;
  for (let batch = 0; batch < MAX_BATCHES && !stopping.aborted; batch++) {
    const count = await withTransaction(ctx.db, (tx) => refreshBatch(tx, ctx));
    total += count;
    if (count < BATCH_PEOPLE) break;
  }
  return total;
}

async function refreshBatch(tx: Database, ctx: Context): Promise<number> {
  const nowMs = ctx.clock.now().getTime();
  const due = await tx.sql<DuePerson[]>`
    SELECT organization_id AS "organizationId", ${tx.sql.unsafe(STATE_COLUMNS)} FROM people
    WHERE score_due_at <= ${new Date(nowMs).toISOString()}::timestamptz
    ORDER BY score_due_at LIMIT ${BATCH_PEOPLE} FOR NO KEY UPDATE SKIP LOCKED`;
  if (due.length === 0) return 0;
  const scored = due.map((person) => {
    const { score } = scorePerson(person, nowMs);
    const dueAt = nextScoreDrop(person, nowMs);
    return {
      before: person,
      after: { ...person, score },
      dueAt: dueAt === null ? null : new Date(dueAt).toISOString(),
    };
  });
  await tx.sql`
    UPDATE people SET score = s.score, score_due_at = s.due_at
    FROM unnest(${scored.map(({ after }) => after.organizationId)}::uuid[], ${scored.map(({ after }) => after.id)}::uuid[],
      ${scored.map(({ after }) => after.score)}::int[], ${scored.map(({ dueAt }) => dueAt)}::text[]::timestamptz[])
      AS s (organization_id, id, score, due_at)
    WHERE people.organization_id = s.organization_id AND people.id = s.id`;
  const byOrganization = Map.groupBy(
    scored.filter(({ before, after }) => before.score !== after.score),
    ({ after }) => after.organizationId,
  );
  for (const [organizationId, changed] of byOrganization) {
    const events = changed.map(({ before, after }) => ({
      type: "person.score_changed",
      data: { person: toPersonRecord(after), from: before.score, to: after.score },
    }));
    await publishEvents(tx, ctx, { organizationId, area: "crm" }, events);
  }
  return due.length;
}
