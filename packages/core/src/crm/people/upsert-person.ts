import { type PersonRecord, PlatformError, type UpsertPersonInput } from "@quayside/contracts";
import { withTransaction } from "@quayside/db";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { PersonFault } from "./change-person.ts";
import { employersNamed } from "./mail-domains.ts";
import { emailKey, PeopleBatch } from "./people-batch.ts";
import { toPersonRecord } from "./person-state.ts";

/**
 * Creates the person of the caller's id, or sets the given fields: tags are replaced, attributes merged (null removes a
 * key). An id that was merged into another person means that person. The email may be another person's too; the two
 * are then duplicates to find. Errors: `validation_failed` for what does not fit together.
 */
export async function upsertPerson(
  ctx: Context,
  input: UpsertPersonInput,
): Promise<{ person: PersonRecord; created: boolean }> {
  const { organization } = requireCaller(ctx, "write");
  const { id, ...fields } = input;
  return withTransaction(ctx.db, async (tx) => {
    const keys = fields.email === undefined ? [id] : [id, emailKey(fields.email)];
    const domains = employersNamed(fields);
    const batch = await PeopleBatch.load(tx, ctx, organization.id, { ids: [id], keys, domains });
    const { person, created } = tryChange(() => batch.upsert(id, fields));
    const stored = (await batch.store()).get(person.id) ?? person;
    return { person: toPersonRecord(stored), created };
  });
}

/** A fault in what was given becomes `validation_failed`. */
export function tryChange<T>(change: () => T): T {
  try {
    return change();
  } catch (error) {
    if (!(error instanceof PersonFault)) throw error;
    const { field, message } = error;
    throw new PlatformError("validation_failed", message, { issues: [{ field, code: "invalid_value", message }] });
  }
}
