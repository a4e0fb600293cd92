import type { Attributes, ScoreExplanation } from "@quayside/contracts";
import { isPublicMailDomain } from "../people/mail-domains.ts";

/** Engagement is halved in this time. */
const HALF_LIFE_MS = 30 * 86_400_000;
/** At this much engagement half of its points are reached. */
const HALF_POINTS_AT = 10;
const MAX_ENGAGEMENT_POINTS = 40;
const MAX_COMPLETENESS_POINTS = 20;

/** What the score is made from. Times are Unix milliseconds. */
export interface ScoreFacts {
  email: string | null;
  domain: string | null;
  name: string | null;
  companyId: string | null;
  tags: readonly string[];
  attributes: Attributes;
  /** Sum of touchpoint weights, decayed, as it was at `engagementAt`. */
  engagement: number;
  engagementAt: number | null;
  /** The same sum without decay. */
  engagementTotal: number;
}

export type Score = Omit<ScoreExplanation, "personId">;
type Reason = Score["reasons"][number];

/** Score from 0 to 100 at a moment, with every contribution to it; the impacts add up to the score exactly. */
export function scorePerson(facts: ScoreFacts, nowMs: number): Score {
  const fit = fitReasons(facts);
  const engagement = engagementReasons(facts, nowMs);
  const completeness = completenessReasons(facts);
  const components = { fit: sumOf(fit), engagement: sumOf(engagement), completeness: sumOf(completeness) };
  return {
    score: components.fit + components.engagement + components.completeness,
    components,
    reasons: [...fit, ...engagement, ...completeness],
  };
}

/** A sum of touchpoint weights, decayed from one moment to another. */
export function decay(engagement: number, fromMs: number, toMs: number): number {
  return engagement * 2 ** (-Math.max(0, toMs - fromMs) / HALF_LIFE_MS);
}

/** When decay lowers the score by its next point; null when there is nothing left to lose. */
export function nextScoreDrop(facts: ScoreFacts, nowMs: number): number | null {
  const current = decay(facts.engagement, facts.engagementAt ?? nowMs, nowMs);
  const points = pointsOf(current);
  if (points <= 0) return null;
  // Rounding lets the point go just below this much engagement.
  const least = -HALF_POINTS_AT * Math.log2(1 - (points - 0.5) / MAX_ENGAGEMENT_POINTS);
  return Math.ceil(nowMs + HALF_LIFE_MS * Math.log2(current / least)) + 1;
}

function pointsOf(engagement: number): number {
  return Math.round(MAX_ENGAGEMENT_POINTS * (1 - 2 ** (-engagement / HALF_POINTS_AT)));
}

function fitReasons(facts: ScoreFacts): Reason[] {
  const employer = facts.domain ?? "no domain";
  const business = facts.email !== null && !isPublicMailDomain(facts.email.slice(facts.email.lastIndexOf("@") + 1));
  return [
    facts.companyId
      ? reason("Company known", 15, `Linked to a company by ${employer}.`)
      : reason("No company", 0, "Not linked to a company; a domain links one."),
    business
      ? reason("Business email", 15, "The email is not a public mail provider's.")
      : reason("No business email", 0, facts.email ? "The email is a public mail provider's." : "There is no email."),
    hasText(facts.attributes, ["title", "job_title", "jobTitle", "role", "position"])
      ? reason("Position known", 10, "An attribute names the position.")
      : reason("Position missing", 0, "No attribute 'title', 'job_title', 'role' or 'position'."),
  ];
}

function engagementReasons(facts: ScoreFacts, nowMs: number): Reason[] {
  if (facts.engagementAt === null || facts.engagementTotal <= 0) {
    return [reason("No engagement", 0, "No touchpoint that counts was recorded.")];
  }
  const full = pointsOf(facts.engagementTotal);
  const now = pointsOf(decay(facts.engagement, facts.engagementAt, nowMs));
  const weight = Math.round(facts.engagementTotal * 10) / 10;
  return [
    reason("Touchpoints", full, `Touchpoints with a weight of ${weight} in all.`),
    reason("Decay", now - full, "Touchpoints count half as much every 30 days."),
  ];
}

function completenessReasons(facts: ScoreFacts): Reason[] {
  const missing: Reason[] = [];
  const check = (there: boolean, what: string, impact: number, cure: string) => {
    if (!there) missing.push(reason(`Missing ${what}`, -impact, cure));
  };
  check(facts.email !== null, "email", 6, "Add an email address.");
  check(facts.name !== null, "name", 6, "Add a name.");
  check(
    hasText(facts.attributes, ["phone", "phone_number", "phoneNumber", "mobile", "tel"]),
    "phone number",
    4,
    "Add an attribute 'phone'.",
  );
  check(facts.tags.length > 0, "tags", 4, "Add a tag.");
  return [
    reason("Complete profile", MAX_COMPLETENESS_POINTS, "Points for a profile with nothing missing."),
    ...missing,
  ];
}

function reason(label: string, impact: number, detail: string): Reason {
  return { label, impact, detail };
}

function sumOf(reasons: readonly Reason[]): number {
  return reasons.reduce((sum, { impact }) => sum + impact, 0);
}

function hasText(attributes: Attributes, names: readonly string[]): boolean {
  return names.some((name) => {
    const value = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
    return (typeof value === "string" && value.trim() !== "") || typeof value === "number";
  });
}
