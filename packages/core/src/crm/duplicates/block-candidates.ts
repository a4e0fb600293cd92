import type { Database } from "@quayside/db";
import type { Probes } from "./probes.ts";

/** Two people who have something in common, and are worth comparing. */
export interface Candidate {
  personId: string;
  candidateId: string;
}

/** As in the index: both sides must say it the same way. */
const TEXT = "lower(coalesce(name, '') || ' ' || coalesce(email, ''))";
const NAME = "lower(coalesce(name, ''))";
/** How much of a name must be in another record's name and email (pg_trgm's word similarity). */
const SIMILAR = 0.6;
const SIMILAR_AT_ONE_DOMAIN = 0.4;

/** What was asked: `$1` the organization, `$2` the probes. */
const ASKED = `jsonb_to_recordset($2::text::jsonb)
  AS s (id uuid, emails text[], attributes jsonb, texts jsonb, whole text)`;

/** Each block stops at so many people, so that a common value does not load thousands. */
interface Limits {
  email: number;
  attribute: number;
  domain: number;
}
const FOR_ONE: Limits = { email: 50, attribute: 30, domain: 200 };
const FOR_MANY: Limits = { email: 10, attribute: 10, domain: 50 };
const SIMILAR_READ = 400;
const SIMILAR_KEPT = 60;
const AT_DOMAIN_KEPT = 20;
const NEIGHBOURS = 6;

/**
 * Candidates of one person by all that the indexes know: email, phone, birth date, identifier, domain and similar name
 * or email. Inside a transaction, since the similarity that counts is a setting of it.
 */
export async function blockOne(tx: Database, organizationId: string, probes: Probes): Promise<Candidate[]> {
  await tx.sql`SELECT set_config('pg_trgm.word_similarity_threshold', ${String(SIMILAR)}, true)`;
  const statements = [...exactBlocks(FOR_ONE, ""), similarBlock()];
  return runBlocks(tx, organizationId, [probes], statements);
}

/**
 * Candidates of many people with a larger id than theirs. Similar names are looked for among the neighbours in the
 * order of names and of emails, which costs a hundredth of the text index.
 */
export async function blockMany(tx: Database, organizationId: string, probes: readonly Probes[]): Promise<Candidate[]> {
  const later = "AND p.id > s.id";
  const statements = [...exactBlocks(FOR_MANY, later), nameNeighbours(), emailNeighbours()];
  return runBlocks(tx, organizationId, probes, statements);
}

async function runBlocks(
  tx: Database,
  organizationId: string,
  probes: readonly Probes[],
  statements: readonly string[],
): Promise<Candidate[]> {
  const asked = JSON.stringify(probes);
  const found = await Promise.all(
    statements.map((statement) => tx.sql.unsafe<Candidate[]>(statement, [organizationId, asked])),
  );
  return [
    ...new Map(found.flat().map((candidate) => [`${candidate.personId} ${candidate.candidateId}`, candidate])).values(),
  ];
}

/** A materialized part is planned for all its rows, so that the limit outside does not talk PostgreSQL out of the index. */
function exactBlocks(limits: Limits, which: string): string[] {
  const candidates = `SELECT s.id AS "personId", c.id AS "candidateId"`;
  return [
    `${candidates} FROM ${ASKED} CROSS JOIN LATERAL unnest(s.emails) AS e (email)
      CROSS JOIN LATERAL (WITH matches AS MATERIALIZED (SELECT p.id FROM people AS p
        WHERE p.organization_id = $1 AND p.email IS NOT NULL AND lower(p.email) = e.email AND p.id <> s.id ${which})
        SELECT id FROM matches LIMIT ${limits.email}) AS c`,
    `${candidates} FROM ${ASKED} CROSS JOIN LATERAL jsonb_array_elements(s.attributes) AS v (contained)
      CROSS JOIN LATERAL (WITH matches AS MATERIALIZED (SELECT p.id FROM people AS p
        WHERE p.organization_id = $1 AND p.attributes @> v.contained AND p.id <> s.id ${which})
        SELECT id FROM matches LIMIT ${limits.attribute}) AS c`,
    `${candidates} FROM ${ASKED} JOIN people AS own ON own.organization_id = $1 AND own.id = s.id
      CROSS JOIN LATERAL (SELECT near.id FROM (SELECT p.id, ${TEXT} AS text FROM people AS p
          WHERE p.organization_id = $1 AND p.domain = own.domain AND p.domain IS NOT NULL AND p.id <> s.id ${which}
          ORDER BY p.created_at DESC, p.id DESC LIMIT ${limits.domain}) AS near
        CROSS JOIN LATERAL (SELECT max(word_similarity(text_of.value, near.text)) AS similarity
          FROM jsonb_array_elements_text(s.texts) AS text_of) AS best
        WHERE best.similarity >= ${SIMILAR_AT_ONE_DOMAIN}
        ORDER BY best.similarity DESC LIMIT ${AT_DOMAIN_KEPT}) AS c`,
  ];
}

/** Of the first that are similar, those that are most similar as a whole. */
function similarBlock(): string {
  return `SELECT s.id AS "personId", c.id AS "candidateId" FROM ${ASKED}
    CROSS JOIN LATERAL jsonb_array_elements_text(s.texts) AS t (text)
    CROSS JOIN LATERAL (
      WITH matches AS MATERIALIZED (SELECT id, ${TEXT} AS text FROM people
        WHERE organization_id = $1 AND ${TEXT} %> t.text AND id <> s.id)
      SELECT id FROM (SELECT * FROM matches LIMIT ${SIMILAR_READ}) AS read
      ORDER BY similarity(text, s.whole) DESC LIMIT ${SIMILAR_KEPT}) AS c`;
}

function nameNeighbours(): string {
  return neighbours({ key: NAME, id: ", id", own: "(lower(coalesce(own.name, '')), own.id)", among: "name" });
}

/** The index has no ids, and people of the very same email are found by it. */
function emailNeighbours(): string {
  return neighbours({ key: "lower(email)", id: "", own: "(lower(own.email))", among: "email" });
}

interface Order {
  key: string;
  id: string;
  own: string;
  among: "name" | "email";
}

/** Those who stand just before and just after a person in the order of a value. */
function neighbours({ key, id, own, among }: Order): string {
  // A condition that the index of names does not have would keep it from being used in order.
  const present = among === "email" ? "AND email IS NOT NULL" : "";
  const side = (comparison: string, direction: string) => `(SELECT id FROM people
    WHERE organization_id = $1 ${present} AND (${key}${id}) ${comparison} ${own}
    ORDER BY ${key} ${direction}${id && `${id} ${direction}`} LIMIT ${NEIGHBOURS})`;
  return `SELECT s.id AS "personId", c.id AS "candidateId" FROM ${ASKED}
    JOIN people AS own ON own.organization_id = $1 AND own.id = s.id
    CROSS JOIN LATERAL (${side(">", "ASC")} UNION ALL ${side("<", "DESC")}) AS c
    WHERE own.${among} IS NOT NULL AND c.id > s.id`;
}
