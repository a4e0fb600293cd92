import {
  type Attributes,
  PERSON_FIELDS,
  type PersonField,
  type PersonRecord,
  type SparsePerson,
} from "@quayside/contracts";

/** A person as it is worked with: the record, and what the score is made from. Times are Unix milliseconds. */
export interface PersonState {
  id: string;
  email: string | null;
  domain: string | null;
  name: string | null;
  tags: string[];
  attributes: Attributes;
  companyId: string | null;
  score: number;
  createdAt: number;
  updatedAt: number;
  engagement: number;
  engagementAt: number | null;
  engagementTotal: number;
}

const milliseconds = (column: string) => `(extract(epoch FROM ${column}) * 1000)::float8`;

/** Columns of a PersonRecord. */
export const RECORD_COLUMNS = `id, email, domain, name, tags, attributes, score, company_id AS "companyId",
  ${milliseconds("created_at")} AS "createdAt", ${milliseconds("updated_at")} AS "updatedAt"`;

/** Columns of a PersonState. */
export const STATE_COLUMNS = `${RECORD_COLUMNS}, engagement, ${milliseconds("engagement_at")} AS "engagementAt",
  engagement_total AS "engagementTotal"`;

export type PersonRow = Omit<PersonState, "engagement" | "engagementAt" | "engagementTotal">;

export function toPersonRecord(row: PersonRow): PersonRecord {
  return {
    id: row.id,
    email: row.email,
    domain: row.domain,
    name: row.name,
    tags: row.tags,
    attributes: row.attributes,
    score: row.score,
    companyId: row.companyId,
    createdAt: new Date(row.createdAt).toISOString(),
    updatedAt: new Date(row.updatedAt).toISOString(),
  };
}

/** The fields that were asked for, and the id; all of them when none were named. */
export function pickFields(record: PersonRecord, fields: readonly PersonField[] | undefined): SparsePerson {
  if (fields === undefined || fields.length === 0) return record;
  const wanted = new Set<PersonField>(["id", ...fields]);
  const entries = PERSON_FIELDS.filter((name) => wanted.has(name)).map((name) => [name, record[name]]);
  return Object.fromEntries(entries) as SparsePerson;
}
