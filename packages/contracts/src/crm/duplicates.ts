import { z } from "zod";
import { dateTime, uuid } from "../platform/text.ts";
import { boundedList } from "./bounded-list.ts";
import { cursor, pageLimit } from "./pages.ts";
import { personRecord } from "./people.ts";

const MAX_CANDIDATES = 20;
const MAX_FOUND = 50;
const MAX_SCANNED = 100;
const LIKELY = 0.5;

const confidence = z.number().min(0).max(1).describe("The probability that both are one person.");
const reasons = z.array(z.string()).describe("What speaks for it and what against, the weightiest first.");
const minConfidence = z.number().min(0).max(1).default(LIKELY);

export const mergeCandidatesInput = z.strictObject({
  id: uuid,
  candidateIds: boundedList(uuid, 1, MAX_CANDIDATES).describe(
    "People to compare with. Unknown ids and the person's own are left out of the answer.",
  ),
});
export const mergeCandidate = z.object({ personId: z.guid(), confidence, reasons });
export type MergeCandidate = z.infer<typeof mergeCandidate>;
export const mergeCandidatesOutput = z.object({ candidates: z.array(mergeCandidate) });

/** What a list of pairs shows of a person. */
export const personSummary = personRecord.omit({ attributes: true, tags: true });
export type PersonSummary = z.infer<typeof personSummary>;

export const findDuplicatesInput = z.strictObject({
  personId: uuid,
  limit: z.int().min(1).max(MAX_FOUND).default(10),
  minConfidence,
});
export type FindDuplicatesInput = z.output<typeof findDuplicatesInput>;
const duplicate = mergeCandidate.extend({ person: personSummary });
export type Duplicate = z.infer<typeof duplicate>;
export const findDuplicatesOutput = z.object({ candidates: z.array(duplicate) });

export const scanDuplicatesInput = z.strictObject({
  cursor: cursor.optional(),
  limit: z.int().min(1).max(MAX_SCANNED).default(50).describe("People to look at."),
  minConfidence,
});
export type ScanDuplicatesInput = z.output<typeof scanDuplicatesInput>;
const duplicatePair = z.object({ first: personSummary, second: personSummary, confidence, reasons });
export type DuplicatePair = z.infer<typeof duplicatePair>;
export const scanDuplicatesOutput = z.object({ pairs: z.array(duplicatePair), next_cursor: z.string().nullable() });
export type ScannedDuplicates = z.infer<typeof scanDuplicatesOutput>;

const chosen = z.enum(["survivor", "merged"]).optional();
export const mergePeopleInput = z.strictObject({
  survivorId: uuid,
  mergedId: uuid,
  fields: z
    .strictObject({ name: chosen, email: chosen, domain: chosen })
    .optional()
    .describe("Whose value stays, where both have one. Default: the survivor's."),
});
export type MergePeopleInput = z.output<typeof mergePeopleInput>;
export const mergePeopleOutput = z.object({ mergeId: z.guid(), person: personRecord });
export type MergedPeople = z.infer<typeof mergePeopleOutput>;

export const undoMergeInput = z.strictObject({ mergeId: uuid });
export const undoMergeOutput = z.object({ survivor: personRecord, restored: personRecord });
export type UndoneMerge = z.infer<typeof undoMergeOutput>;

export const duplicatePairInput = z.strictObject({ firstId: uuid, secondId: uuid });

export const listMergesInput = z.strictObject({ personId: uuid, limit: pageLimit(50) });
const personMerge = z.object({
  id: z.guid(),
  survivorId: z.guid(),
  mergedId: z.guid(),
  mergedName: z.string().nullable(),
  mergedEmail: z.string().nullable(),
  actor: z.string(),
  createdAt: dateTime,
  undoneAt: dateTime.nullable(),
});
export type PersonMerge = z.infer<typeof personMerge>;
export const listMergesOutput = z.object({ merges: z.array(personMerge) });
