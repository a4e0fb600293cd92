import { foldText, showText, textOf, wordsOf } from "./fold-text.ts";
import { nicknameLines } from "./nicknames.ts";
import { type Word, wordFrom } from "./text-distance.ts";

export interface NamePart extends Word {
  readonly nicknames: readonly number[];
}

export interface PreparedName {
  readonly parts: readonly NamePart[];
  /** The parts written together, which spaces and hyphens in odd places do not disturb. */
  readonly whole: Word;
  readonly shown: string;
}

const MAX_PARTS = 6;
const MAX_PART_LENGTH = 40;

const TITLES = new Set(
  "mr mrs ms miss mx dr prof professor sir dame rev herr frau mag dipl ing jr sr ii iii phd md mba esq".split(" "),
);
/** Particles belong to the surname, whether they are written apart or not. */
const PARTICLES = new Set(
  "van von der den de del della di da dos du la le mc mac st ter ten bin ibn al el abu".split(" "),
);

/** A name's parts, titles left out, the surname last; undefined when nothing is left. */
export function prepareName(value: unknown): PreparedName | undefined {
  const raw = textOf(value);
  if (raw === "") return undefined;
  const words = wordsOf(surnameLast(foldText(raw)));
  const named = words.filter((word) => !TITLES.has(word));
  const texts = joinParticles(named.length > 0 ? named : words);
  if (texts.length === 0) return undefined;
  const parts = texts
    // Surnames stand last, so of a very long name the beginning and the end are kept.
    .filter((_, index) => index < MAX_PARTS - 1 || index === texts.length - 1)
    .map((text) => text.slice(0, MAX_PART_LENGTH))
    .map((text) => ({ ...wordFrom(text), nicknames: nicknameLines(text) }));
  return { parts, whole: wordFrom(parts.map(({ text }) => text).join("")), shown: showText(raw) };
}

/** "Lovelace, Ada" becomes "Ada Lovelace"; "Ada Lovelace, PhD" stays. */
function surnameLast(folded: string): string {
  const comma = folded.indexOf(",");
  if (comma < 0) return folded;
  return `${folded.slice(comma + 1)} ${folded.slice(0, comma)}`;
}

function joinParticles(words: readonly string[]): string[] {
  const joined: string[] = [];
  let particles = "";
  for (const [index, word] of words.entries()) {
    if (PARTICLES.has(word) && index < words.length - 1) {
      particles += word;
      continue;
    }
    joined.push(particles + word);
    particles = "";
  }
  return joined;
}
