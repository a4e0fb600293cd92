import { type MergedPeople, type MergePeopleInput, PlatformError } from "@quayside/contracts";
import { type Database, withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { actorOf, requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { type PersonState, toPersonRecord } from "../people/person-state.ts";
import { noPerson } from "../people/update-person.ts";
import { tryChange } from "../people/upsert-person.ts";
import { writePeople } from "../people/write-people.ts";
import { moveAliases } from "./email-aliases.ts";
import {
  labelOf,
  lockCampaigns,
  lockForMerge,
  type PersonKeys,
  storeCreatedAt,
  storeEntry,
  survivorOf,
  tellUpdated,
} from "./merge-rows.ts";
import { mergeStates } from "./merge-states.ts";

/**
 * Makes one person of two. The survivor keeps its values and takes the other's where it has none or `fields` says so,
 * with the other's tags (at most 100), attributes, engagement and timeline. From then on the other's id, and every id
 * that led to it, means the survivor; so does the email that lost, in an upsert by email, while nobody holds it.
 * `undoMerge` takes it back. Errors: `not_found`; `conflict` for somebody who was merged meanwhile; `validation_failed`
 * for one person twice or too many attributes.
 */
export async function mergePeople(ctx: Context, input: MergePeopleInput): Promise<MergedPeople> {
  const { organization } = requireCaller(ctx, "write");
  const { survivorId, mergedId } = input;
  if (survivorId === mergedId) throw samePerson();
  const nowMs = ctx.clock.now().getTime();
  return withTransaction(ctx.db, async (tx) => {
    const { survivor, merged, companies } = await lockPair(tx, organization.id, survivorId, mergedId);
    const after = tryChange(() => mergeStates(survivor, merged, input.fields, nowMs));
    const [written = after] = await writePeople(
      tx,
      ctx,
      organization.id,
      [{ before: survivor, after: { ...after, updatedAt: nowMs } }],
      companies,
    );
    if (written.createdAt !== survivor.createdAt) await storeCreatedAt(tx, organization.id, written);
    await moveBelongings(tx, organization.id, merged.id, survivor.id);
    const mergeId = ctx.ids.uuid();
    await storeMerge(tx, ctx, organization.id, { mergeId, survivor, after: written, merged });
    await moveAliases(tx, organization.id, { mergeId, survivorId, mergedId });
    await tx.sql`DELETE FROM people WHERE organization_id = ${organization.id} AND id = ${merged.id}`;
    await tell(tx, ctx, organization.id, { mergeId, survivor, after: written, merged });
    return { mergeId, person: toPersonRecord(written) };
  });
}

function samePerson(): PlatformError {
  const message = "A person cannot be merged with itself.";
  return new PlatformError("validation_failed", message, {
    issues: [{ field: "mergedId", code: "invalid_value", message }],
  });
}

async function lockPair(tx: Database, organizationId: string, survivorId: string, mergedId: string) {
  const known = await tx.sql<PersonKeys[]>`
    SELECT id, email, domain FROM people
    WHERE organization_id = ${organizationId} AND id = ANY(${[survivorId, mergedId]}::uuid[])`;
  const { states, companies } = await lockForMerge(tx, organizationId, known);
  const find = async (id: string): Promise<PersonState> => {
    const state = states.get(id);
    if (state) return state;
    const into = await survivorOf(tx, organizationId, id);
    if (into === null) throw noPerson(id);
    throw new PlatformError("conflict", `The person ${id} was merged into ${into}.`);
  };
  return { survivor: await find(survivorId), merged: await find(mergedId), companies };
}

/** The timeline and the redirects of a person become another's. */
async function moveBelongings(tx: Database, organizationId: string, from: string, to: string): Promise<void> {
  await lockCampaigns(tx, organizationId, from);
  // Those that came by an earlier merge keep their origin, so that both merges can be undone one after the other.
  await tx.sql`
    UPDATE timeline_events SET person_id = ${to}, merged_from = coalesce(merged_from, ${from})
    WHERE organization_id = ${organizationId} AND person_id = ${from}`;
  await tx.sql`
    UPDATE person_redirects SET person_id = ${to} WHERE organization_id = ${organizationId} AND person_id = ${from}`;
  await tx.sql`
    INSERT INTO person_redirects (organization_id, id, person_id) VALUES (${organizationId}, ${from}, ${to})`;
}

interface Merge {
  mergeId: string;
  survivor: PersonState;
  after: PersonState;
  merged: PersonState;
}

async function storeMerge(
  tx: Database,
  ctx: Context,
  organizationId: string,
  { mergeId, survivor, after, merged }: Merge,
): Promise<void> {
  // Later than the one before it whatever the clocks of several machines say: the newest is undone first.
  await tx.sql`
    INSERT INTO person_merges (organization_id, id, survivor_id, merged_id, survivor_before, survivor_after,
      merged_before, actor, created_at)
    VALUES (${organizationId}, ${mergeId}, ${survivor.id}, ${merged.id}, ${JSON.stringify(survivor)}::text::jsonb,
      ${JSON.stringify(after)}::text::jsonb, ${JSON.stringify(merged)}::text::jsonb, ${actorOf(ctx)},
      greatest(${ctx.clock.now().toISOString()}::timestamptz, (SELECT max(created_at) + interval '1 microsecond'
        FROM person_merges WHERE organization_id = ${organizationId} AND survivor_id = ${survivor.id})))`;
}

async function tell(
  tx: Database,
  ctx: Context,
  organizationId: string,
  { mergeId, survivor, after, merged }: Merge,
): Promise<void> {
  const { id, name, email } = merged;
  await storeEntry(tx, organizationId, {
    id: ctx.ids.uuid(),
    at: ctx.clock.now(),
    personId: after.id,
    type: "person.merged",
    title: `Merged with ${labelOf(merged)}`,
    data: { mergeId, person: { id, name, email } },
  });
  await tellUpdated(tx, ctx, organizationId, survivor, after);
  await recordAudit(tx, ctx, {
    action: "person.merged",
    target: `person:${after.id}`,
    details: { mergeId, mergedId: id },
  });
}
