import { type PersonRecord, PlatformError, type UpdatePersonInput } from "@quayside/contracts";
import { withTransaction } from "@quayside/db";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { PeopleBatch } from "./people-batch.ts";
import { toPersonRecord } from "./person-state.ts";
import { tryChange } from "./upsert-person.ts";

/**
 * Sets the given fields of a person: tags are replaced, attributes merged (null removes a key). Errors: `not_found`,
 * `validation_failed`.
 */
export async function updatePerson(ctx: Context, input: UpdatePersonInput): Promise<PersonRecord> {
  const { organization } = requireCaller(ctx, "write");
  const { id, ...fields } = input;
  return withTransaction(ctx.db, async (tx) => {
    const batch = await PeopleBatch.load(tx, ctx, organization.id, { ids: [id] });
    const present = batch.find(id);
    if (!present) throw noPerson(id);
    const { person } = tryChange(() => batch.upsert(present.id, fields));
    return toPersonRecord((await batch.store()).get(person.id) ?? person);
  });
}

export function noPerson(id: string): PlatformError {
  return new PlatformError("not_found", `No person has the id ${id}.`);
}
