import type { Database } from "@quayside/db";
import type { Context } from "../../platform/context.ts";
import { publishEvents, type WebhookEvent } from "../../webhooks/index.ts";
import { nextScoreDrop, scorePerson } from "../score/score-person.ts";
import { changesBetween, type PersonChanges } from "./change-person.ts";
import { companiesOfDomains } from "./link-companies.ts";
import { isPublicMailDomain } from "./mail-domains.ts";
import { type PersonState, toPersonRecord } from "./person-state.ts";

export interface PersonWrite {
  before: PersonState | null;
  after: PersonState;
}

interface Written {
  before: PersonState | null;
  after: PersonState;
  changes: PersonChanges | null;
}

/**
 * Stores people with a statement for all of them: links companies, scores, writes rows, timeline and events. The rows
 * must be locked, or held off by their keys. `lockedCompanies` are those of the domains that the people may have got.
 * Returns the people as they were stored.
 */
export async function writePeople(
  tx: Database,
  ctx: Context,
  organizationId: string,
  writes: readonly PersonWrite[],
  lockedCompanies: ReadonlyMap<string, string> = new Map(),
): Promise<PersonState[]> {
  if (writes.length === 0) return [];
  const nowMs = ctx.clock.now().getTime();
  const linked = await withCompanies(tx, ctx, organizationId, writes, lockedCompanies);
  const written = linked.map(({ before, after }): Written => {
    const changes = before && changesBetween(before, after);
    const updatedAt = changes ? nowMs : after.updatedAt;
    const { score } = scorePerson(after, nowMs);
    return { before, after: { ...after, score, updatedAt }, changes };
  });
  await storeRows(
    tx,
    organizationId,
    written.map(({ after }) => after),
    nowMs,
  );
  await storeTimeline(tx, ctx, organizationId, written, nowMs);
  await publishEvents(tx, ctx, { organizationId, area: "crm" }, written.flatMap(eventsOf));
  return written.map(({ after }) => after);
}

/** A domain that is new, or whose company was deleted, links its company, which is created when it is new; public mail providers are no companies. */
async function withCompanies(
  tx: Database,
  ctx: Context,
  organizationId: string,
  writes: readonly PersonWrite[],
  lockedCompanies: ReadonlyMap<string, string>,
): Promise<PersonWrite[]> {
  const changed = ({ before, after }: PersonWrite) => after.domain !== (before?.domain ?? null) || lacksCompany(after);
  const domains = new Set<string>();
  for (const write of writes) {
    const { domain } = write.after;
    if (changed(write) && domain !== null && !isPublicMailDomain(domain)) domains.add(domain);
  }
  const companies = await companiesOfDomains(tx, ctx, organizationId, [...domains], lockedCompanies);
  return writes.map((write) => {
    if (!changed(write)) return write;
    const companyId = companies.get(write.after.domain ?? "") ?? null;
    return { before: write.before, after: { ...write.after, companyId } };
  });
}

/** Whose domain could link a company and does not, because the company was deleted. */
export function lacksCompany({ companyId, domain }: PersonState): boolean {
  return companyId === null && domain !== null && !isPublicMailDomain(domain);
}

const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

async function storeRows(
  tx: Database,
  organizationId: string,
  people: readonly PersonState[],
  nowMs: number,
): Promise<void> {
  const rows = people.map((person) => ({
    ...person,
    createdAt: iso(person.createdAt),
    updatedAt: iso(person.updatedAt),
    engagementAt: iso(person.engagementAt),
    scoreDueAt: iso(nextScoreDrop(person, nowMs)),
  }));
  await tx.sql`
    INSERT INTO people (organization_id, id, email, domain, name, tags, attributes, company_id, score, created_at,
      updated_at, engagement, engagement_at, engagement_total, score_due_at)
    SELECT ${organizationId}, p.id, p.email, p.domain, p.name, p.tags, p.attributes, p."companyId", p.score,
      p."createdAt", p."updatedAt", p.engagement, p."engagementAt", p."engagementTotal", p."scoreDueAt"
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) AS p (id uuid, email text, domain text, name text,
      tags text[], attributes jsonb, "companyId" uuid, score int, "createdAt" timestamptz, "updatedAt" timestamptz,
      engagement float8, "engagementAt" timestamptz, "engagementTotal" float8, "scoreDueAt" timestamptz)
    ON CONFLICT (organization_id, id) DO UPDATE SET email = excluded.email, domain = excluded.domain,
      name = excluded.name, tags = excluded.tags, attributes = excluded.attributes, company_id = excluded.company_id,
      score = excluded.score, updated_at = excluded.updated_at, engagement = excluded.engagement,
      engagement_at = excluded.engagement_at, engagement_total = excluded.engagement_total,
      score_due_at = excluded.score_due_at`;
}

async function storeTimeline(
  tx: Database,
  ctx: Context,
  organizationId: string,
  written: readonly Written[],
  nowMs: number,
): Promise<void> {
  const rows = written.flatMap(({ before, after, changes }) =>
    timelineOf(before, changes).map((entry) => ({ id: ctx.ids.uuid(), personId: after.id, ...entry })),
  );
  if (rows.length === 0) return;
  await tx.sql`
    INSERT INTO timeline_events (organization_id, id, person_id, type, occurred_at, title, data)
    SELECT ${organizationId}, e.id, e."personId", e.type, ${iso(nowMs)}::timestamptz, e.title, e.data
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
      AS e (id uuid, "personId" uuid, type text, title text, data jsonb)`;
}

function timelineOf(before: PersonState | null, changes: PersonChanges | null) {
  if (before === null) return [{ type: "person.created", title: "Created", data: {} }];
  if (!changes) return [];
  const { fields, tagged, untagged } = changes;
  const entries: { type: string; title: string; data: Record<string, unknown> }[] = [];
  if (fields.length > 0) {
    entries.push({ type: "person.updated", title: `Changed ${fields.join(", ")}`, data: { fields } });
  }
  if (tagged.length > 0)
    entries.push({ type: "person.tagged", title: titleOf("Tagged", tagged), data: { tags: tagged } });
  if (untagged.length > 0) {
    entries.push({ type: "person.untagged", title: titleOf("Untagged", untagged), data: { tags: untagged } });
  }
  return entries;
}

function titleOf(verb: string, tags: readonly string[]): string {
  const more = tags.length > 3 ? ` and ${tags.length - 3} more` : "";
  return `${verb} ${tags.slice(0, 3).join(", ")}${more}`;
}

function eventsOf({ before, after, changes }: Written): WebhookEvent[] {
  const person = toPersonRecord(after);
  if (before === null) return [{ type: "person.created", data: { person } }];
  const events: WebhookEvent[] = [];
  if (changes && changes.fields.length > 0) {
    events.push({ type: "person.updated", data: { person, changed: changes.fields } });
  }
  if (changes && changes.tagged.length > 0)
    events.push({ type: "person.tagged", data: { person, tags: changes.tagged } });
  if (changes && changes.untagged.length > 0) {
    events.push({ type: "person.untagged", data: { person, tags: changes.untagged } });
  }
  if (before.score !== after.score) {
    events.push({ type: "person.score_changed", data: { person, from: before.score, to: after.score } });
  }
  return events;
}
