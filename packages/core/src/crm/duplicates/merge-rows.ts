import type { Database } from "@quayside/db";
import type { Context } from "../../platform/context.ts";
import { publishEvents } from "../../webhooks/index.ts";
import { changesBetween } from "../people/change-person.ts";
import { lockCompanies } from "../people/link-companies.ts";
import { lockPeopleKeys } from "../people/lock-people.ts";
import { emailKey } from "../people/people-batch.ts";
import { type PersonState, STATE_COLUMNS, toPersonRecord } from "../people/person-state.ts";

export type PersonKeys = Pick<PersonState, "id" | "email" | "domain">;

/**
 * Locks the rows of these people, in the one order that everybody keeps: keys of those who may be created, companies,
 * people. `emails` are others that will find somebody else. Gives the people who are there, and the companies by domain.
 */
export async function lockForMerge(
  tx: Database,
  organizationId: string,
  people: readonly PersonKeys[],
  emails: readonly string[] = [],
): Promise<{ states: Map<string, PersonState>; companies: ReadonlyMap<string, string> }> {
  const ids = people.map(({ id }) => id);
  const keys = people.flatMap(({ id, email }) => (email === null ? [id] : [id, emailKey(email)]));
  await lockPeopleKeys(tx, organizationId, [...keys, ...emails.map(emailKey)]);
  const domains = new Set(people.flatMap(({ domain }) => domain ?? []));
  const companies = await lockCompanies(tx, organizationId, [...domains]);
  const rows = await tx.sql<PersonState[]>`
    SELECT ${tx.sql.unsafe(STATE_COLUMNS)} FROM people
    WHERE organization_id = ${organizationId} AND id = ANY(${ids}::uuid[]) ORDER BY id FOR UPDATE`;
  return { states: new Map(rows.map((row) => [row.id, row])), companies };
}

/** Whoever deletes a campaign locks it before the touchpoints that name it, so this comes before they are moved. */
export async function lockCampaigns(tx: Database, organizationId: string, personId: string): Promise<void> {
  await tx.sql`
    SELECT id FROM campaigns WHERE organization_id = ${organizationId} AND id IN (
      SELECT campaign_id FROM timeline_events WHERE organization_id = ${organizationId} AND person_id = ${personId})
    ORDER BY id FOR KEY SHARE`;
}

/** Into whom this id was merged. */
export async function survivorOf(db: Database, organizationId: string, id: string): Promise<string | null> {
  const [row] = await db.sql<{ survivor: string }[]>`
    SELECT person_id AS survivor FROM person_redirects WHERE organization_id = ${organizationId} AND id = ${id}`;
  return row?.survivor ?? null;
}

/** The time of creation is not among what changes of a person write. */
export async function storeCreatedAt(
  tx: Database,
  organizationId: string,
  { id, createdAt }: PersonState,
): Promise<void> {
  await tx.sql`
    UPDATE people SET created_at = ${new Date(createdAt).toISOString()}::timestamptz
    WHERE organization_id = ${organizationId} AND id = ${id}`;
}

export interface TimelineEntry {
  personId: string;
  type: "person.merged" | "person.merge_undone" | "person.restored";
  title: string;
  data: Record<string, unknown>;
}

export async function storeEntry(
  tx: Database,
  organizationId: string,
  entry: TimelineEntry & { id: string; at: Date },
): Promise<void> {
  await tx.sql`
    INSERT INTO timeline_events (organization_id, id, person_id, type, occurred_at, title, data)
    VALUES (${organizationId}, ${entry.id}, ${entry.personId}, ${entry.type}, ${entry.at.toISOString()}::timestamptz,
      ${entry.title}, ${JSON.stringify(entry.data)}::text::jsonb)`;
}

/** As people are called in a title. */
export function labelOf({ id, name, email }: Pick<PersonState, "id" | "name" | "email">): string {
  return name ?? email ?? id;
}

/** Who follows `person.updated` learns of every merge, also of one that changes no field of the survivor. */
export async function tellUpdated(
  tx: Database,
  ctx: Context,
  organizationId: string,
  before: PersonState,
  after: PersonState,
): Promise<void> {
  const toldAlready = (changesBetween(before, after)?.fields.length ?? 0) > 0;
  if (toldAlready) return;
  const data = { person: toPersonRecord(after), changed: [] };
  await publishEvents(tx, ctx, { organizationId, area: "crm" }, [{ type: "person.updated", data }]);
}
