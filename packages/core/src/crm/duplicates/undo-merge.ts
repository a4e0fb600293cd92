import { PlatformError, type UndoneMerge } from "@quayside/contracts";
import { type Database, withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { publishEvents } from "../../webhooks/index.ts";
import { type PersonState, toPersonRecord } from "../people/person-state.ts";
import { writePeople } from "../people/write-people.ts";
import { aliasesOfMerge, returnAliases } from "./email-aliases.ts";
import {
  labelOf,
  lockCampaigns,
  lockForMerge,
  storeCreatedAt,
  storeEntry,
  survivorOf,
  tellUpdated,
} from "./merge-rows.ts";
import { type MergedStates, unmergeStates } from "./merge-states.ts";

interface StoredMerge extends MergedStates {
  id: string;
  undone: boolean;
}

/**
 * Takes a merge back: the merged person is there again under its own id, with its timeline and the ids and emails that
 * led to it; the survivor loses what the merge brought. What was changed of the survivor since stays, and so do touchpoints that
 * came since. Of the merges of one survivor the newest is undone first. Dismissals do not come back. Errors:
 * `not_found`; `conflict` when it was undone, another merge must be undone first, the survivor is gone or the id is
 * taken again.
 */
export async function undoMerge(ctx: Context, input: { mergeId: string }): Promise<UndoneMerge> {
  const { organization } = requireCaller(ctx, "write");
  return withTransaction(ctx.db, async (tx) => {
    const merge = await findMerge(tx, organization.id, input.mergeId);
    const { before, merged } = merge;
    const pair = { mergeId: merge.id, survivorId: before.id, mergedId: merged.id };
    const aliases = await aliasesOfMerge(tx, organization.id, pair);
    const { states, companies } = await lockForMerge(tx, organization.id, [before, merged], aliases);
    await requireUndoable(tx, organization.id, merge, states);
    const current = states.get(before.id) as PersonState;
    const { survivor, restored } = await writeBoth(tx, ctx, organization.id, { merge, current, companies });
    await moveBack(tx, organization.id, merge);
    await returnAliases(tx, organization.id, pair);
    await tx.sql`
      UPDATE person_merges SET undone_at = ${ctx.clock.now().toISOString()}::timestamptz
      WHERE organization_id = ${organization.id} AND id = ${merge.id}`;
    await tell(tx, ctx, organization.id, { merge, current, survivor, restored });
    return { survivor: toPersonRecord(survivor), restored: toPersonRecord(restored) };
  });
}

async function findMerge(tx: Database, organizationId: string, mergeId: string): Promise<StoredMerge> {
  const [merge] = await tx.sql<StoredMerge[]>`
    SELECT id, survivor_before AS before, survivor_after AS after, merged_before AS merged,
      undone_at IS NOT NULL AS undone
    FROM person_merges WHERE organization_id = ${organizationId} AND id = ${mergeId}`;
  if (!merge) throw new PlatformError("not_found", `No merge has the id ${mergeId}.`);
  return merge;
}

async function requireUndoable(
  tx: Database,
  organizationId: string,
  merge: StoredMerge,
  states: ReadonlyMap<string, PersonState>,
): Promise<void> {
  const [survivorId, mergedId] = [merge.before.id, merge.merged.id];
  // Read again, now that both people are locked.
  if ((await findMerge(tx, organizationId, merge.id)).undone) {
    throw new PlatformError("conflict", "This merge was undone already.");
  }
  if (!states.has(survivorId)) {
    const into = await survivorOf(tx, organizationId, survivorId);
    const where = into === null ? "is gone" : `was merged into ${into}; undo that merge first`;
    throw new PlatformError("conflict", `The person ${survivorId} ${where}.`);
  }
  if (states.has(mergedId)) throw new PlatformError("conflict", `The id ${mergedId} is another person's now.`);
  const [newer] = await tx.sql<{ id: string }[]>`
    SELECT id FROM person_merges
    WHERE organization_id = ${organizationId} AND survivor_id = ${survivorId} AND undone_at IS NULL
    ORDER BY created_at DESC LIMIT 1`;
  if (newer && newer.id !== merge.id) {
    throw new PlatformError("conflict", `The merge ${newer.id} into the same person is newer; undo it first.`);
  }
}

async function writeBoth(
  tx: Database,
  ctx: Context,
  organizationId: string,
  { merge, current, companies }: { merge: StoredMerge; current: PersonState; companies: ReadonlyMap<string, string> },
): Promise<{ survivor: PersonState; restored: PersonState }> {
  const nowMs = ctx.clock.now().getTime();
  const after = { ...unmergeStates(current, merge, nowMs), updatedAt: nowMs };
  const merged = { ...merge.merged, companyId: await companyLeft(tx, organizationId, merge.merged.companyId) };
  const [survivor = after, restored = merged] = await writePeople(
    tx,
    ctx,
    organizationId,
    // Written as it was, and not as somebody new.
    [
      { before: current, after },
      { before: merged, after: merged },
    ],
    companies,
  );
  if (survivor.createdAt !== current.createdAt) await storeCreatedAt(tx, organizationId, survivor);
  return { survivor, restored };
}

/** Null when it was deleted meanwhile, or is about to be: its people have none then. */
async function companyLeft(tx: Database, organizationId: string, id: string | null): Promise<string | null> {
  const [row] = await tx.sql`
    SELECT id FROM companies WHERE organization_id = ${organizationId} AND id = ${id} FOR KEY SHARE SKIP LOCKED`;
  return row ? id : null;
}

/** Ids that led to the merged person, and events that came with it, are those of the merges that stand. */
async function moveBack(tx: Database, organizationId: string, { before, merged }: StoredMerge): Promise<void> {
  const rows = await tx.sql<{ id: string }[]>`
    WITH RECURSIVE origins (id) AS (
      SELECT ${merged.id}::uuid
      UNION SELECT m.merged_id FROM person_merges AS m JOIN origins ON m.survivor_id = origins.id
      WHERE m.organization_id = ${organizationId} AND m.undone_at IS NULL)
    SELECT id FROM origins`;
  const origins = rows.map(({ id }) => id);
  await lockCampaigns(tx, organizationId, before.id);
  await tx.sql`
    UPDATE timeline_events SET person_id = ${merged.id}, merged_from = nullif(merged_from, ${merged.id})
    WHERE organization_id = ${organizationId} AND person_id = ${before.id} AND merged_from = ANY(${origins}::uuid[])`;
  await tx.sql`
    DELETE FROM person_redirects WHERE organization_id = ${organizationId} AND id = ${merged.id}`;
  await tx.sql`
    UPDATE person_redirects SET person_id = ${merged.id}
    WHERE organization_id = ${organizationId} AND person_id = ${before.id} AND id = ANY(${origins}::uuid[])`;
}

async function tell(
  tx: Database,
  ctx: Context,
  organizationId: string,
  {
    merge,
    current,
    survivor,
    restored,
  }: { merge: StoredMerge; current: PersonState; survivor: PersonState; restored: PersonState },
): Promise<void> {
  const entry = (personId: string) => ({ id: ctx.ids.uuid(), at: ctx.clock.now(), personId });
  await storeEntry(tx, organizationId, {
    ...entry(survivor.id),
    type: "person.merge_undone",
    title: `Separated from ${labelOf(restored)}`,
    data: { mergeId: merge.id, person: { id: restored.id, name: restored.name, email: restored.email } },
  });
  await storeEntry(tx, organizationId, {
    ...entry(restored.id),
    type: "person.restored",
    title: `Separated from ${labelOf(survivor)}`,
    data: { mergeId: merge.id, person: { id: survivor.id, name: survivor.name, email: survivor.email } },
  });
  await tellUpdated(tx, ctx, organizationId, current, survivor);
  const data = { person: toPersonRecord(restored) };
  await publishEvents(tx, ctx, { organizationId, area: "crm" }, [{ type: "person.created", data }]);
  await recordAudit(tx, ctx, {
    action: "person.merge_undone",
    target: `person:${survivor.id}`,
    details: { mergeId: merge.id, restoredId: restored.id },
  });
}
