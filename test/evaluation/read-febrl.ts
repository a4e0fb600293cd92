import { readFileSync } from "node:fs";
import type { LabelledPerson } from "./people-generator.ts";

const NAME_COLUMNS = ["given_name", "surname"];
const LABEL_COLUMNS = ["rec_id", "blocking_number"];

/** Reads a CSV file in the form of febrl's data sets: `rec-N-org` and `rec-N-dup-M` are one person. */
export function readFebrl(path: string, without: ReadonlySet<string>): LabelledPerson[] {
  const [header = "", ...lines] = readFileSync(path, "utf8").split(/\r?\n/);
  const columns = cellsOf(header);
  if (!columns.includes("rec_id")) throw new Error(`${path} has no column 'rec_id'.`);
  const people: LabelledPerson[] = [];
  for (const line of lines) {
    if (line.trim() === "") continue;
    const cells = cellsOf(line);
    const row = new Map(columns.map((column, index): [string, string] => [column, cells[index] ?? ""]));
    people.push(personFrom(row, without));
  }
  return people;
}

function personFrom(row: ReadonlyMap<string, string>, without: ReadonlySet<string>): LabelledPerson {
  const id = row.get("rec_id") ?? "";
  const entity = /^rec-(\d+)-/.exec(id)?.[1];
  if (entity === undefined) throw new Error(`'${id}' is no label: labels are rec-N-org and rec-N-dup-M.`);
  const name = NAME_COLUMNS.map((column) => row.get(column) ?? "")
    .join(" ")
    .trim();
  const rest = [...row].filter(
    ([column]) => ![...NAME_COLUMNS, ...LABEL_COLUMNS].includes(column) && !without.has(column),
  );
  return { id, entity, person: { name, email: null, domain: null, attributes: Object.fromEntries(rest) } };
}

function cellsOf(line: string): string[] {
  const cells: string[] = [];
  for (const [, quoted, plain] of line.matchAll(/(?:^|,)\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))/g)) {
    cells.push((quoted?.replaceAll('""', '"') ?? plain ?? "").trim());
  }
  return cells;
}
