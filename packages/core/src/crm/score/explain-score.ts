import type { ScoreExplanation } from "@quayside/contracts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { findPerson } from "../people/read-person.ts";
import { noPerson } from "../people/update-person.ts";
import { scorePerson } from "./score-person.ts";

/** What a person's score is made from at this moment; the impacts add up to it. Errors: `not_found`. */
export async function explainScore(ctx: Context, input: { id: string }): Promise<ScoreExplanation> {
  const { organization } = requireCaller(ctx, "read");
  const person = await findPerson(ctx.db, organization.id, input.id);
  if (!person) throw noPerson(input.id);
  return { personId: person.id, ...scorePerson(person, ctx.clock.now().getTime()) };
}
