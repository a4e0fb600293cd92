import { z } from "zod";
import { dateTime, domainName, plainText, uuid, visibleName } from "../platform/text.ts";
import { attributes } from "./attributes.ts";
import { boundedList } from "./bounded-list.ts";
import { cursor, pageLimit, pageOf, searchText } from "./pages.ts";

export const PERSON_FIELDS = [
  "id",
  "email",
  "domain",
  "name",
  "tags",
  "attributes",
  "score",
  "companyId",
  "createdAt",
  "updatedAt",
] as const;
export type PersonField = (typeof PERSON_FIELDS)[number];

export const PERSON_SORTS = [
  "createdAt",
  "-createdAt",
  "updatedAt",
  "-updatedAt",
  "score",
  "-score",
  "name",
  "-name",
] as const;
export type PersonSort = (typeof PERSON_SORTS)[number];

const MAX_TAGS = 100;
const email = z.email("must be an email address").max(254, "must not have more than 254 characters");
const personName = visibleName(500);
export const tag = plainText(1, 100).refine((value) => value.trim() === value, "must not begin or end with a space");
const tags = boundedList(tag, 0, MAX_TAGS).describe("Replaces all tags. Doubles are dropped.");
const mergedAttributes = attributes.describe("Merged into what is there, key by key; null removes a key.");

const writable = {
  email: email.optional(),
  domain: domainName
    .optional()
    .describe("Of the employer. Default: the email's, unless it is a public mail provider's."),
  name: personName.optional(),
  tags: tags.optional(),
  attributes: mergedAttributes.optional(),
};

export const personRecord = z.object({
  id: z.guid(),
  email: z.string().nullable(),
  domain: z.string().nullable(),
  name: z.string().nullable(),
  tags: z.array(z.string()),
  attributes: z.record(z.string(), z.unknown()),
  score: z.int().min(0).max(100),
  companyId: z.guid().nullable(),
  createdAt: dateTime,
  updatedAt: dateTime,
});
export type PersonRecord = z.infer<typeof personRecord>;

/** A person with the fields that were asked for; the id always. */
export const sparsePerson = personRecord.partial().required({ id: true });
export type SparsePerson = z.infer<typeof sparsePerson>;

const fields = z
  .array(z.string().max(500))
  .max(50)
  .transform((values) => values.flatMap((value) => value.split(",").map((name) => name.trim())))
  .pipe(z.array(z.enum(PERSON_FIELDS)))
  .optional()
  .describe(`Fields to answer, separated by commas: ${PERSON_FIELDS.join(", ")}. Default: all. \`id\` always comes.`);

const bound = z.number().nullable().optional();

export const listPeopleInput = z.strictObject({
  limit: pageLimit(20),
  cursor: cursor.optional(),
  sort: z.enum(PERSON_SORTS).default("-createdAt"),
  fields,
  q: searchText.optional().describe("Part of a name or email; case does not matter."),
  filter: z
    .strictObject({
      score: z.strictObject({ gt: bound, lt: bound }).optional(),
      tag: tag.optional(),
      company_id: uuid.optional(),
      email: plainText(1, 254).optional().describe("Case does not matter."),
      domain: plainText(1, 253).optional(),
      name: plainText(1, 500).optional().describe("The whole name; case does not matter."),
      attributes: z.record(plainText(1, 128), plainText(0, 1_000)).optional().describe("Attributes with this text."),
    })
    .optional(),
});
export type ListPeopleInput = z.output<typeof listPeopleInput>;
export const listPeopleOutput = pageOf(sparsePerson);

export const personIdInput = z.strictObject({ id: uuid });
export const readPersonInput = z.strictObject({ id: uuid, fields });

export const updatePersonInput = z.strictObject({
  id: uuid,
  name: writable.name,
  tags: writable.tags,
  attributes: writable.attributes,
});
export type UpdatePersonInput = z.output<typeof updatePersonInput>;

export const upsertPersonInput = z.strictObject({ id: uuid, ...writable });
export type UpsertPersonInput = z.output<typeof upsertPersonInput>;

const bulkOperation = z.discriminatedUnion("op", [
  z.strictObject({ op: z.literal("upsert"), data: z.strictObject({ id: uuid.optional(), ...writable }) }),
  z.strictObject({ op: z.literal("tag"), personId: uuid, tag }),
  z.strictObject({ op: z.literal("untag"), personId: uuid, tag }),
]);
export type BulkOperation = z.output<typeof bulkOperation>;

export const bulkPeopleInput = z.strictObject({ operations: boundedList(bulkOperation, 1, 1_000) });

const bulkResult = z.object({
  index: z.int(),
  op: z.enum(["upsert", "tag", "untag"]),
  ok: z.boolean(),
  personId: z.guid().optional(),
  error: z.string().optional(),
});
export type BulkResult = z.infer<typeof bulkResult>;
export const bulkPeopleOutput = z.object({ results: z.array(bulkResult), succeeded: z.int(), failed: z.int() });
export type BulkOutcome = z.infer<typeof bulkPeopleOutput>;

export const scoreExplanation = z.object({
  personId: z.guid(),
  score: z.int().min(0).max(100),
  components: z.object({ fit: z.int(), engagement: z.int(), completeness: z.int() }),
  reasons: z.array(z.object({ label: z.string(), impact: z.int(), detail: z.string() })),
});
export type ScoreExplanation = z.infer<typeof scoreExplanation>;
