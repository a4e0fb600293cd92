import { type FieldIssue, type NewTouchpoint, PlatformError, TOUCHPOINT_WEIGHTS } from "@quayside/contracts";
import { type Database, withTransaction } from "@quayside/db";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { publishEvents } from "../../webhooks/index.ts";
import { PeopleBatch } from "../people/people-batch.ts";
import type { PersonState } from "../people/person-state.ts";
import { writePeople } from "../people/write-people.ts";
import { decay } from "../score/score-person.ts";

/** A clock that runs a little ahead is no reason to lose a touchpoint. */
const MAX_AHEAD_MS = 5 * 60_000;
/** Of kinds that have none of their own. */
const DEFAULT_WEIGHT = 1;

interface Touchpoint {
  id: string;
  personId: string;
  type: string;
  occurredAt: number;
  title: string;
  data: Record<string, unknown>;
  campaignId: string | null;
  weight: number;
}

/**
 * Records up to 1,000 touchpoints of people and raises their engagement; all of them or none. Returns their ids in the
 * order given. Errors: `validation_failed` naming each unknown person or campaign and each time in the future.
 */
export async function recordTouchpoints(
  ctx: Context,
  input: { touchpoints: NewTouchpoint[] },
): Promise<{ ids: string[] }> {
  const { organization } = requireCaller(ctx, "write");
  return withTransaction(ctx.db, async (tx) => {
    const batch = await PeopleBatch.load(tx, ctx, organization.id, {
      ids: input.touchpoints.map(({ personId }) => personId),
    });
    const campaigns = await knownCampaigns(tx, organization.id, input.touchpoints);
    const touchpoints = check(ctx, batch, campaigns, input.touchpoints);
    await storeTouchpoints(tx, organization.id, touchpoints);
    const byPerson = Map.groupBy(touchpoints, ({ personId }) => personId);
    const nowMs = ctx.clock.now().getTime();
    const writes = [...byPerson].map(([id, ofPerson]) => {
      const before = batch.find(id) as PersonState;
      return { before, after: withEngagement(before, ofPerson, nowMs) };
    });
    await writePeople(tx, ctx, organization.id, writes);
    await publishEvents(tx, ctx, { organizationId: organization.id, area: "crm" }, touchpoints.map(eventOf));
    return { ids: touchpoints.map(({ id }) => id) };
  });
}

function check(
  ctx: Context,
  batch: PeopleBatch,
  campaigns: ReadonlySet<string>,
  given: readonly NewTouchpoint[],
): Touchpoint[] {
  const nowMs = ctx.clock.now().getTime();
  const issues: FieldIssue[] = [];
  const refuse = (index: number, field: string, message: string) =>
    issues.push({ field: `touchpoints.${index}.${field}`, code: "invalid_value", message });
  const touchpoints = given.map((touchpoint, index): Touchpoint => {
    const person = batch.find(touchpoint.personId);
    const occurredAt = touchpoint.occurredAt === undefined ? nowMs : Date.parse(touchpoint.occurredAt);
    const { campaignId = null } = touchpoint;
    if (!person) refuse(index, "personId", `No person has the id ${touchpoint.personId}.`);
    if (occurredAt > nowMs + MAX_AHEAD_MS) refuse(index, "occurredAt", "The time is in the future.");
    if (campaignId !== null && !campaigns.has(campaignId)) {
      refuse(index, "campaignId", `No campaign has the id ${campaignId}.`);
    }
    return {
      id: ctx.ids.uuid(),
      personId: person?.id ?? touchpoint.personId,
      type: touchpoint.type,
      occurredAt,
      title: touchpoint.title ?? titleOf(touchpoint.type),
      data: touchpoint.data ?? {},
      campaignId,
      weight: Object.hasOwn(TOUCHPOINT_WEIGHTS, touchpoint.type)
        ? (TOUCHPOINT_WEIGHTS[touchpoint.type] ?? DEFAULT_WEIGHT)
        : DEFAULT_WEIGHT,
    };
  });
  const [first] = issues;
  if (first) throw new PlatformError("validation_failed", first.message, { issues });
  return touchpoints;
}

/** `email.opened` reads "Email opened". */
function titleOf(type: string): string {
  const words = type.replaceAll(/[._]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

async function knownCampaigns(
  tx: Database,
  organizationId: string,
  touchpoints: readonly NewTouchpoint[],
): Promise<Set<string>> {
  const ids = [...new Set(touchpoints.flatMap(({ campaignId }) => campaignId ?? []))];
  if (ids.length === 0) return new Set();
  const rows = await tx.sql<{ id: string }[]>`
    SELECT id FROM campaigns WHERE organization_id = ${organizationId} AND id = ANY(${ids}::uuid[]) FOR KEY SHARE`;
  return new Set(rows.map(({ id }) => id));
}

async function storeTouchpoints(
  tx: Database,
  organizationId: string,
  touchpoints: readonly Touchpoint[],
): Promise<void> {
  const rows = touchpoints.map((row) => ({ ...row, occurredAt: new Date(row.occurredAt).toISOString() }));
  await tx.sql`
    INSERT INTO timeline_events (organization_id, id, person_id, type, occurred_at, title, data, campaign_id, weight)
    SELECT ${organizationId}, e.id, e."personId", e.type, e."occurredAt", e.title, e.data, e."campaignId", e.weight
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) AS e (id uuid, "personId" uuid, type text,
      "occurredAt" timestamptz, title text, data jsonb, "campaignId" uuid, weight float8)`;
}

/** Each weight counts from its own time on, so the order in which touchpoints come does not matter. */
export function withEngagement(
  person: PersonState,
  touchpoints: readonly { occurredAt: number; weight: number }[],
  nowMs: number,
): PersonState {
  const before = decay(person.engagement, person.engagementAt ?? nowMs, nowMs);
  const added = touchpoints.reduce((sum, { weight, occurredAt }) => sum + decay(weight, occurredAt, nowMs), 0);
  const total = touchpoints.reduce((sum, { weight }) => sum + weight, person.engagementTotal);
  return { ...person, engagement: before + added, engagementAt: nowMs, engagementTotal: total };
}

function eventOf({ occurredAt, weight: _, ...touchpoint }: Touchpoint) {
  const data = { touchpoint: { ...touchpoint, occurredAt: new Date(occurredAt).toISOString() } };
  return { type: "touchpoint.recorded", data };
}
