import type { Database } from "@quayside/db";

/** Holders of an email who are loaded. Thousands may share one, and naming a few is enough to refuse the choice. */
export const MAX_HOLDERS = 5;

/** Ids in order; one more than are loaded tells that there are many. */
interface EmailHolders {
  own: string[];
  /** Those to whom a merge brought the email, while they kept another as their own. */
  aliases: string[];
}

/** By email, in lower case; emails of nobody are left out. */
export async function holdersOfEmails(
  tx: Database,
  organizationId: string,
  emails: readonly string[],
): Promise<Map<string, EmailHolders>> {
  if (emails.length === 0) return new Map();
  // Not prepared: a plan from when the table was small would read all people for each email.
  const rows = await tx.sql.unsafe<{ email: string; id: string; isAlias: boolean }[]>(HOLDERS, [
    organizationId,
    emails as string[],
    MAX_HOLDERS + 1,
  ]);
  const holders = new Map<string, EmailHolders>();
  for (const { email, id, isAlias } of rows) {
    const found = holders.get(email) ?? { own: [], aliases: [] };
    (isAlias ? found.aliases : found.own).push(id);
    holders.set(email, found);
  }
  return holders;
}

const HOLDERS = `
  SELECT wanted.email, holder.id, holder.is_alias AS "isAlias"
  FROM unnest($2::text[]) AS wanted (email), LATERAL (
    (SELECT id, false AS is_alias FROM people
      WHERE organization_id = $1::uuid AND email IS NOT NULL AND lower(email) = wanted.email LIMIT $3::int)
    UNION ALL
    (SELECT person_id, true FROM person_email_aliases
      WHERE organization_id = $1::uuid AND email = wanted.email LIMIT $3::int)) AS holder
  ORDER BY holder.id`;
