import { isDeepStrictEqual } from "node:util";
import type { Attributes, MergePeopleInput } from "@quayside/contracts";
import { mergeAttributes } from "../people/change-person.ts";
import type { PersonState } from "../people/person-state.ts";
import { decay } from "../score/score-person.ts";

const MAX_TAGS = 100;
const CHOSEN = ["name", "email", "domain"] as const;

/**
 * The survivor of a merge: its own values, or the other's where it has none or `fields` says so; the tags of both, its
 * own first; its attributes and those that only the other has; the earlier creation; the engagement of both. Throws
 * PersonFault when there are more attributes than a person may have.
 */
export function mergeStates(
  survivor: PersonState,
  merged: PersonState,
  fields: MergePeopleInput["fields"],
  nowMs: number,
): PersonState {
  const after: PersonState = {
    ...survivor,
    tags: [...new Set([...survivor.tags, ...merged.tags])].slice(0, MAX_TAGS),
    attributes: mergeAttributes(merged.attributes, survivor.attributes),
    createdAt: Math.min(survivor.createdAt, merged.createdAt),
    ...engagementOfBoth(survivor, merged, nowMs),
  };
  for (const field of CHOSEN) {
    const [first, second] = fields?.[field] === "merged" ? [merged, survivor] : [survivor, merged];
    after[field] = first[field] ?? second[field];
  }
  return after;
}

function engagementOfBoth(survivor: PersonState, merged: PersonState, nowMs: number) {
  if (merged.engagementAt === null) {
    const { engagement, engagementAt, engagementTotal } = survivor;
    return { engagement, engagementAt, engagementTotal };
  }
  return {
    engagement: engagementNow(survivor, nowMs) + engagementNow(merged, nowMs),
    engagementAt: nowMs,
    engagementTotal: survivor.engagementTotal + merged.engagementTotal,
  };
}

function engagementNow({ engagement, engagementAt }: PersonState, nowMs: number): number {
  return decay(engagement, engagementAt ?? nowMs, nowMs);
}

/** The survivor before a merge and just after it, and who was merged into it. */
export interface MergedStates {
  before: PersonState;
  after: PersonState;
  merged: PersonState;
}

/** The survivor without what the merge brought. What was changed since stays as it is. */
export function unmergeStates(current: PersonState, { before, after, merged }: MergedStates, nowMs: number) {
  const had = new Set(before.tags);
  const brought = new Set(after.tags.filter((tag) => !had.has(tag)));
  const restored: PersonState = {
    ...current,
    tags: current.tags.filter((tag) => !brought.has(tag)),
    attributes: withoutBrought(current.attributes, before.attributes, after.attributes),
    ...engagementWithout(current, { before, after, merged }, nowMs),
  };
  for (const field of CHOSEN) if (current[field] === after[field]) restored[field] = before[field];
  if (current.createdAt === after.createdAt) restored.createdAt = before.createdAt;
  return restored;
}

function withoutBrought(current: Attributes, before: Attributes, after: Attributes): Attributes {
  const kept = Object.entries(current).filter(
    ([key, value]) => Object.hasOwn(before, key) || !Object.hasOwn(after, key) || !isDeepStrictEqual(value, after[key]),
  );
  return Object.fromEntries(kept);
}

/** Decay takes the same part of every touchpoint, so that what a person brought can be taken away again later. */
function engagementWithout(current: PersonState, { before, after, merged }: MergedStates, nowMs: number) {
  const { engagement, engagementAt, engagementTotal } = current;
  if (merged.engagementAt === null) return { engagement, engagementAt, engagementTotal };
  const isAsMerged = engagementAt === after.engagementAt && engagementTotal === after.engagementTotal;
  if (isAsMerged) {
    return {
      engagement: before.engagement,
      engagementAt: before.engagementAt,
      engagementTotal: before.engagementTotal,
    };
  }
  return {
    engagement: Math.max(0, engagementNow(current, nowMs) - engagementNow(merged, nowMs)),
    engagementAt: nowMs,
    engagementTotal: Math.max(0, engagementTotal - merged.engagementTotal),
  };
}
