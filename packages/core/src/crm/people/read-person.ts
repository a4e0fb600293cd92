import type { PersonField, SparsePerson } from "@quayside/contracts";
import type { Database } from "@quayside/db";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { type PersonState, pickFields, STATE_COLUMNS, toPersonRecord } from "./person-state.ts";
import { noPerson } from "./update-person.ts";

/** A person by id; an id that was merged into another person gives that person. Errors: `not_found`. */
export async function readPerson(
  ctx: Context,
  input: { id: string; fields?: PersonField[] | undefined },
): Promise<SparsePerson> {
  const { organization } = requireCaller(ctx, "read");
  const person = await findPerson(ctx.db, organization.id, input.id);
  if (!person) throw noPerson(input.id);
  return pickFields(toPersonRecord(person), input.fields);
}

export async function findPerson(db: Database, organizationId: string, id: string): Promise<PersonState | null> {
  const [row] = await db.sql<PersonState[]>`
    SELECT ${db.sql.unsafe(STATE_COLUMNS)} FROM people
    WHERE organization_id = ${organizationId} AND id = coalesce(
      (SELECT person_id FROM person_redirects WHERE organization_id = ${organizationId} AND id = ${id}), ${id})`;
  return row ?? null;
}
