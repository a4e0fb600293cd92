// `node test/evaluation/duplicates.ts [file.csv …]` measures how well duplicate people are told from strangers, on
// files in febrl's form or, without a file, on people that it makes up.
import { parseArgs, styleText } from "node:util";
import { comparePrepared } from "../../packages/core/src/crm/duplicates/compare-people.ts";
import { generatePeople, type LabelledPerson } from "./people-generator.ts";
import { readFebrl } from "./read-febrl.ts";
import { qualityAt, type ScoredPair, type ScoredPairs, scorePairs } from "./score-pairs.ts";

const THRESHOLD = 0.5;
const THRESHOLDS = [0.1, 0.3, THRESHOLD, 0.7, 0.9, 0.99];
const USAGE = `node test/evaluation/duplicates.ts [file.csv …] [options]

  --without COLUMN   leaves a column out; may be given several times
  --no-shares        does not weigh values by how common they are
  --seed N           another population of made-up people (1)
  --people N         how many different people are made up (3000)
  --show N           the N worst mistakes of either kind (0)
`;

const coloured = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;
const strong = (text: string) => (coloured ? styleText("bold", text) : text);
const dim = (text: string) => (coloured ? styleText("dim", text) : text);
const print = (line = "") => process.stdout.write(`${line}\n`);
const percent = (share: number) => `${(share * 100).toFixed(2)} %`;
const count = (value: number) => Math.round(value).toLocaleString("en");
const row = (cells: readonly string[]) => `  ${cells.map((cell) => cell.padStart(11)).join("")}`;

function report(title: string, labelled: readonly LabelledPerson[], useShares: boolean, show: number): void {
  const scored = scorePairs(labelled, useShares);
  const { pairs, truePairs, durations } = scored;
  const found = pairs.filter(({ isTrue }) => isTrue).length;
  print(strong(title));
  print(`  people            ${count(labelled.length)}`);
  print(`  true pairs        ${count(truePairs)}`);
  print(`  pairs compared    ${count(pairs.length)}`);
  print(`  blocking recall   ${percent(truePairs === 0 ? 1 : found / truePairs)}`);
  const { prepareMs, blockMs, compareMs } = durations;
  print(
    `  time              prepare ${count(prepareMs)} ms, block ${count(blockMs)} ms, compare ${count(compareMs)} ms`,
  );
  print(`  comparisons       ${count((pairs.length / compareMs) * 1_000)} a second\n`);
  print(dim(row(["threshold", "precision", "recall", "F1", "wrong", "missed"])));
  for (const threshold of THRESHOLDS) {
    const { precision, recall, f1, wrong, missed } = qualityAt(threshold, scored);
    const cells = [percent(precision), percent(recall), f1.toFixed(4), count(wrong), count(missed)];
    const line = row([threshold.toFixed(2), ...cells]);
    print(threshold === THRESHOLD ? strong(line) : line);
  }
  if (show > 0) showMistakes(labelled, scored, show);
  print();
}

/** The surest of what was wrong, and of the compared pairs that were missed those with the least confidence. */
function showMistakes(labelled: readonly LabelledPerson[], scored: ScoredPairs, most: number): void {
  const wrong = scored.pairs.filter(({ confidence, isTrue }) => !isTrue && confidence >= THRESHOLD);
  const missed = scored.pairs.filter(({ confidence, isTrue }) => isTrue && confidence < THRESHOLD);
  wrong.sort((a, b) => b.confidence - a.confidence);
  missed.sort((a, b) => a.confidence - b.confidence);
  for (const pair of wrong.slice(0, most)) showMistake("wrong", pair, labelled, scored);
  for (const pair of missed.slice(0, most)) showMistake("missed", pair, labelled, scored);
}

function showMistake(
  kind: string,
  { left, right, confidence }: ScoredPair,
  labelled: readonly LabelledPerson[],
  { people, shares }: ScoredPairs,
): void {
  const [a, b] = [people[left], people[right]];
  if (a === undefined || b === undefined) return;
  print(`\n  ${strong(kind)} ${confidence.toFixed(3)}`);
  print(`    ${lineOf(labelled[left])}`);
  print(`    ${lineOf(labelled[right])}`);
  for (const reason of comparePrepared(a, b, shares).reasons) print(dim(`      ${reason}`));
}

function lineOf(labelled: LabelledPerson | undefined): string {
  if (labelled === undefined) return "";
  const { name, email, domain, attributes } = labelled.person;
  return [labelled.id, name ?? "", email ?? "", domain ?? "", ...Object.values(attributes)].join(" | ");
}

function wholeNumber(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`--${option} takes a whole number, not '${text}'.`);
  return value;
}

function main(): void {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    allowNegative: true,
    options: {
      without: { type: "string", multiple: true, default: [] },
      shares: { type: "boolean", default: true },
      seed: { type: "string", default: "1" },
      people: { type: "string", default: "3000" },
      show: { type: "string", default: "0" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return;
  }
  const show = wholeNumber("show", values.show);
  for (const file of positionals) report(file, readFebrl(file, new Set(values.without)), values.shares, show);
  if (positionals.length > 0) return;
  const seed = wholeNumber("seed", values.seed);
  const entities = wholeNumber("people", values.people);
  report(`made-up people, seed ${seed}`, generatePeople({ seed, entities }), values.shares, show);
}

// `| head` closes the pipe early.
process.stdout.on("error", () => process.exit());

try {
  main();
} catch (error) {
  process.exitCode = 1;
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
}
