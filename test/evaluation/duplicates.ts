// `node test/evaluation/duplicates.ts [file.csv …]` measures how well duplicate people are told from strangers, on
// files in febrl's form or, without a file, on people that it makes up.
import { parseArgs, styleText } from "node:util";
import { comparePrepared, scorePrepared } from "../../packages/core/src/crm/duplicates/compare-people.ts";
import { countShares } from "../../packages/core/src/crm/duplicates/count-shares.ts";
import { preparePerson } from "../../packages/core/src/crm/duplicates/prepare-person.ts";
import { blockPeople } from "./block-people.ts";
import { generatePeople, type LabelledPerson } from "./people-generator.ts";
import { readFebrl } from "./read-febrl.ts";

const THRESHOLD = 0.5;
const OTHER_THRESHOLDS = [0.1, 0.3, 0.7, 0.9, 0.99];
const USAGE = `node test/evaluation/duplicates.ts [file.csv …] [options]

  --without COLUMN   leaves a column out; may be given several times
  --no-shares        does not weigh values by how common they are
  --seed N           another population of made-up people (1)
  --people N         how many different people are made up (3000)
  --show N           the N worst mistakes of either kind (0)
`;

interface ScoredPair {
  left: number;
  right: number;
  confidence: number;
  isTrue: boolean;
}

const coloured = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;
const strong = (text: string) => (coloured ? styleText("bold", text) : text);
const dim = (text: string) => (coloured ? styleText("dim", text) : text);
const print = (line = "") => process.stdout.write(`${line}\n`);
const percent = (share: number) => `${(share * 100).toFixed(2)} %`;
const count = (value: number) => Math.round(value).toLocaleString("en");

function evaluate(
  title: string,
  labelled: readonly LabelledPerson[],
  options: { useShares: boolean; show: number },
): void {
  const startedAt = performance.now();
  const people = labelled.map(({ person }) => preparePerson(person));
  const preparedAt = performance.now();
  const shares = options.useShares ? countShares(people) : undefined;
  const pairs = blockPeople(people);
  const blockedAt = performance.now();
  const scored = pairs.map(([left, right]): ScoredPair => {
    const [a, b] = [people[left], people[right]];
    const confidence = a === undefined || b === undefined ? 0 : scorePrepared(a, b, shares);
    return { left, right, confidence, isTrue: labelled[left]?.entity === labelled[right]?.entity };
  });
  const comparedMs = performance.now() - blockedAt;
  const truePairs = countTruePairs(labelled);
  const found = scored.filter(({ isTrue }) => isTrue).length;
  print(strong(title));
  print(`  people ${count(people.length)}, true pairs ${count(truePairs)}, pairs compared ${count(pairs.length)}`);
  print(`  blocking recall ${percent(truePairs === 0 ? 1 : found / truePairs)}`);
  print(
    `  prepared in ${count(preparedAt - startedAt)} ms, blocked in ${count(blockedAt - preparedAt)} ms, ` +
      `compared in ${count(comparedMs)} ms: ${count((pairs.length / comparedMs) * 1_000)} comparisons/s`,
  );
  printTable(scored, truePairs);
  const describe = ({ left, right }: ScoredPair) => {
    const [a, b] = [people[left], people[right]];
    return a === undefined || b === undefined ? [] : comparePrepared(a, b, shares).reasons;
  };
  if (options.show > 0) showMistakes(labelled, scored, options.show, describe);
  print();
}

function countTruePairs(labelled: readonly LabelledPerson[]): number {
  const sizes = new Map<string, number>();
  for (const { entity } of labelled) sizes.set(entity, (sizes.get(entity) ?? 0) + 1);
  let pairs = 0;
  for (const size of sizes.values()) pairs += (size * (size - 1)) / 2;
  return pairs;
}

function printTable(scored: readonly ScoredPair[], truePairs: number): void {
  print(
    dim(`  ${["threshold", "precision", "recall", "F1", "wrong", "missed"].map((head) => head.padStart(10)).join("")}`),
  );
  for (const threshold of [...OTHER_THRESHOLDS, THRESHOLD].sort()) {
    const positive = scored.filter(({ confidence }) => confidence >= threshold);
    const right = positive.filter(({ isTrue }) => isTrue).length;
    const precision = positive.length === 0 ? 1 : right / positive.length;
    const recall = truePairs === 0 ? 1 : right / truePairs;
    const f1 = precision + recall === 0 ? 0 : (2 * precision * recall) / (precision + recall);
    const cells = [threshold.toString(), percent(precision), percent(recall), f1.toFixed(4)];
    const line = `  ${[...cells, count(positive.length - right), count(truePairs - right)].map((cell) => cell.padStart(10)).join("")}`;
    print(threshold === THRESHOLD ? strong(line) : line);
  }
}

function showMistakes(
  labelled: readonly LabelledPerson[],
  scored: readonly ScoredPair[],
  most: number,
  describe: (pair: ScoredPair) => string[],
): void {
  const wrong = scored.filter(({ confidence, isTrue }) => !isTrue && confidence >= THRESHOLD);
  const missed = scored.filter(({ confidence, isTrue }) => isTrue && confidence < THRESHOLD);
  wrong.sort((a, b) => b.confidence - a.confidence);
  missed.sort((a, b) => a.confidence - b.confidence);
  for (const [title, pairs] of [["wrong", wrong] as const, ["missed", missed] as const]) {
    for (const pair of pairs.slice(0, most)) {
      print(`\n  ${strong(title)} ${pair.confidence.toFixed(3)}`);
      for (const index of [pair.left, pair.right]) print(`    ${lineOf(labelled[index])}`);
      for (const reason of describe(pair)) print(dim(`      ${reason}`));
    }
  }
}

function lineOf(labelled: LabelledPerson | undefined): string {
  if (labelled === undefined) return "";
  const { name, email, domain, attributes } = labelled.person;
  return [labelled.id, name ?? "", email ?? "", domain ?? "", ...Object.values(attributes)].join(" | ");
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
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return;
  }
  const options = { useShares: values.shares, show: Number(values.show) };
  for (const file of positionals) evaluate(file, readFebrl(file, new Set(values.without)), options);
  if (positionals.length > 0) return;
  const made = generatePeople({ seed: Number(values.seed), entities: Number(values.people) });
  evaluate(`made-up people, seed ${values.seed}`, made, options);
}

try {
  main();
} catch (error) {
  process.exitCode = 1;
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
}
