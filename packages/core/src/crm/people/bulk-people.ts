import type { BulkOperation, BulkOutcome, BulkResult } from "@quayside/contracts";
import { withTransaction } from "@quayside/db";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { PersonFault } from "./change-person.ts";
import { employersNamed } from "./mail-domains.ts";
import { type EmailMatch, emailKey, PeopleBatch } from "./people-batch.ts";

const MAX_TAGS = 100;

/**
 * Up to 1,000 operations in their order, in one transaction. An upsert means the person of `data.id`, else the one who
 * holds the email (case does not matter), else the survivor of the merge that took it, who keeps the own email, else a
 * new one. Each operation stands alone: what cannot be done is told in its result, and the others are done. Results come
 * in the order of the operations.
 */
export async function bulkPeople(ctx: Context, input: { operations: BulkOperation[] }): Promise<BulkOutcome> {
  const { organization } = requireCaller(ctx, "write");
  const results = await withTransaction(ctx.db, async (tx) => {
    const batch = await PeopleBatch.load(tx, ctx, organization.id, keysOf(input.operations));
    const outcomes = input.operations.map((operation, index) => attempt(ctx, batch, operation, index));
    await batch.store();
    return outcomes;
  });
  const succeeded = results.filter(({ ok }) => ok).length;
  return { results, succeeded, failed: results.length - succeeded };
}

/** Whom the operations name, and what a new person among them would take. */
function keysOf(operations: readonly BulkOperation[]) {
  const [ids, emails, keys, domains] = [new Set<string>(), new Set<string>(), new Set<string>(), new Set<string>()];
  for (const operation of operations) {
    if (operation.op !== "upsert") {
      ids.add(operation.personId);
      continue;
    }
    const { id, email } = operation.data;
    for (const domain of employersNamed(operation.data)) domains.add(domain);
    if (id !== undefined) {
      ids.add(id);
      keys.add(id);
    }
    if (email !== undefined) {
      if (id === undefined) emails.add(email);
      keys.add(emailKey(email));
    }
  }
  return { ids, emails, keys, domains };
}

function attempt(ctx: Context, batch: PeopleBatch, operation: BulkOperation, index: number): BulkResult {
  try {
    return { index, op: operation.op, ok: true, personId: apply(ctx, batch, operation) };
  } catch (error) {
    if (!(error instanceof PersonFault)) throw error;
    return { index, op: operation.op, ok: false, error: error.message };
  }
}

function apply(ctx: Context, batch: PeopleBatch, operation: BulkOperation): string {
  if (operation.op === "upsert") {
    const { id, ...fields } = operation.data;
    if (id !== undefined) return batch.upsert(id, fields).person.id;
    const match = matchByEmail(batch, fields.email);
    if (!match) return batch.upsert(ctx.ids.uuid(), fields).person.id;
    // The email told who is meant; whoever merged the two chose the other one for the survivor.
    return batch.upsert(match.id, match.byAlias ? { ...fields, email: undefined } : fields).person.id;
  }
  const person = batch.find(operation.personId);
  if (!person) throw new PersonFault("personId", `No person has the id ${operation.personId}.`);
  const others = person.tags.filter((tag) => tag !== operation.tag);
  if (operation.op === "untag") {
    if (others.length < person.tags.length) batch.replace({ ...person, tags: others });
    return person.id;
  }
  if (others.length < person.tags.length) return person.id;
  if (others.length >= MAX_TAGS) throw new PersonFault("tag", `A person may have at most ${MAX_TAGS} tags.`);
  batch.replace({ ...person, tags: [...others, operation.tag] });
  return person.id;
}

function matchByEmail(batch: PeopleBatch, email: string | undefined): (EmailMatch & { kind: "one" }) | null {
  if (email === undefined) return null;
  const match = batch.findByEmail(email);
  if (match.kind === "none") return null;
  if (match.kind === "one") return match;
  const holders = match.more ? `more than ${match.ids.length}` : String(match.ids.length);
  const named = `${match.ids.join(", ")}${match.more ? " and others" : ""}`;
  throw new PersonFault(
    "email",
    `The email ${email} belongs to ${holders} people (${named}); name one by 'id', or merge them.`,
  );
}
