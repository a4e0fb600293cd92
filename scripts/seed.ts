// Fills a running Quayside with people, companies, touchpoints and campaigns, through the SDK. `npm run seed` beside
// `npm start`. The same seed makes the same people; what is there already is not made twice.
import { parseArgs } from "node:util";
import { ConflictError, createQuayside, type Quayside, QuaysideError } from "@quayside/sdk";
import { count, Progress } from "./seed/progress.ts";
import {
  COMPANIES_PER_GROUP,
  PEOPLE_PER_GROUP,
  type SampleGroup,
  sampleGroup,
  stableUuid,
  TOUCHPOINTS_PER_GROUP,
} from "./seed/sample-data.ts";
import { readSettings } from "./settings.ts";

const DEFAULT_PEOPLE = 50_000;
const MAX_PEOPLE = 1_000_000;
const DEFAULT_SEED = 1;
const MAX_SEED = 4_294_967_295;
/** Groups that are sent at the same time. */
const LANES = 3;

const USAGE = `Usage: npm run seed -- [--people N] [--seed N]

  --people N  how many people, 1 to ${count(MAX_PEOPLE)}, rounded up to a multiple of ${PEOPLE_PER_GROUP} (default ${count(DEFAULT_PEOPLE)});
              for each ${PEOPLE_PER_GROUP} of them there are ${COMPANIES_PER_GROUP} companies and ${count(TOUCHPOINTS_PER_GROUP)} touchpoints
  --seed N    another number makes other people (default ${DEFAULT_SEED})`;

const CAMPAIGNS = [
  { name: "Spring launch", status: "completed", description: "New edition, told by email." },
  { name: "Summer webinars", status: "completed", description: "Six webinars with customers." },
  { name: "Win-back", status: "paused", description: "Who left within the last year." },
  { name: "Newsletter", status: "active", description: "Every second Thursday." },
  { name: "Partner referrals", status: "active", description: "Who comes through partners." },
  { name: "Year-end offer", status: "draft", description: "Two months free." },
] as const;

const say = (text: string) => process.stdout.write(`${text}\n`);

interface Options {
  people: number;
  seed: number;
}

function readOptions(): Options | null {
  const { values } = parseArgs({
    options: { people: { type: "string" }, seed: { type: "string" }, help: { type: "boolean" } },
  });
  if (values.help) return null;
  return {
    people: wholeNumber("--people", values.people, DEFAULT_PEOPLE, 1, MAX_PEOPLE),
    seed: wholeNumber("--seed", values.seed, DEFAULT_SEED, 0, MAX_SEED),
  };
}

function wholeNumber(name: string, given: string | undefined, byDefault: number, least: number, most: number): number {
  if (given === undefined) return byDefault;
  const value = /^\d{1,10}$/.test(given) ? Number(given) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new Error(`${name} must be a whole number from ${count(least)} to ${count(most)}.`);
}

/** Ids of the campaigns that have begun. All of them are made, unless campaigns of their names are there. */
async function ensureCampaigns(quayside: Quayside): Promise<string[]> {
  const ids: string[] = [];
  for (const campaign of CAMPAIGNS) {
    const { data } = await quayside.api.crm.campaigns.list.query({ q: campaign.name, limit: 200 });
    const known = data.find(({ name }) => name === campaign.name);
    const { id } = known ?? (await quayside.api.crm.campaigns.create.mutate(campaign));
    if (campaign.status !== "draft") ids.push(id);
  }
  return ids;
}

/** A group's touchpoints are written last and in one transaction: where one of them is, the whole group is. */
async function isThere(quayside: Quayside, seed: number, number: number): Promise<boolean> {
  const id = stableUuid(`${seed}:person:${number * PEOPLE_PER_GROUP}`);
  const { events } = await quayside.api.crm.people.timeline.query({ id, limit: 200 });
  return events.some(({ type }) => !type.startsWith("person."));
}

async function store(quayside: Quayside, group: SampleGroup): Promise<void> {
  const { crm } = quayside.api;
  await Promise.all(
    group.companies.map((company) =>
      crm.companies.create.mutate(company).catch((error: unknown) => {
        // From an earlier run that was broken off.
        if (!(error instanceof ConflictError)) throw error;
      }),
    ),
  );
  const operations = group.people.map((data) => ({ op: "upsert" as const, data }));
  const { results } = await crm.people.bulk.mutate({ operations });
  const fault = results.find(({ ok }) => !ok);
  if (fault) throw new Error(`A person was not stored: ${fault.error}`);
  await crm.people.recordTouchpoints.mutate({ touchpoints: group.touchpoints });
}

/** Stores all groups, some at the same time. */
async function fill(clients: readonly Quayside[], options: Options, campaignIds: readonly string[]): Promise<void> {
  const groups = Math.ceil(options.people / PEOPLE_PER_GROUP);
  const progress = new Progress(groups * PEOPLE_PER_GROUP);
  const nowMs = Date.now();
  let next = 0;
  let stored = 0;
  const work = async (quayside: Quayside) => {
    while (next < groups) {
      const number = next++;
      if (!(await isThere(quayside, options.seed, number))) {
        await store(quayside, sampleGroup(options.seed, number, campaignIds, nowMs));
        stored += PEOPLE_PER_GROUP;
      }
      progress.add(PEOPLE_PER_GROUP);
    }
  };
  try {
    await Promise.all(clients.map(work));
  } finally {
    next = groups;
    progress.end();
  }
  summarize(stored, groups * PEOPLE_PER_GROUP, progress.seconds);
}

function summarize(stored: number, total: number, seconds: number): void {
  const groups = stored / PEOPLE_PER_GROUP;
  const already = total > stored ? ` ${count(total - stored)} people were there already.` : "";
  const made = [
    `${count(stored)} people`,
    `${count(groups * COMPANIES_PER_GROUP)} companies`,
    `${count(groups * TOUCHPOINTS_PER_GROUP)} touchpoints`,
  ].join(", ");
  const rate = stored > 0 ? `, ${count(Math.round(stored / seconds))} people a second` : "";
  say(`Stored ${made} in ${seconds.toFixed(1)} s${rate}.${already}`);
}

async function main(): Promise<void> {
  const options = readOptions();
  if (!options) {
    say(USAGE);
    return;
  }
  const { baseUrl, username, password } = readSettings();
  const anonymous = createQuayside({ baseUrl });
  const { token } = await anonymous.api.identity.sessions.login.mutate({ username, password });
  // A client each: calls of one client at one moment travel as one body, which has a limit.
  const clients = Array.from({ length: LANES }, () => createQuayside({ baseUrl, token }));
  const [first] = clients;
  if (!first) return;
  try {
    say(`Filling ${baseUrl} as ${username}, seed ${options.seed}.`);
    await fill(clients, options, await ensureCampaigns(first));
  } finally {
    await first.api.identity.sessions.logout.mutate().catch(() => undefined);
    for (const client of [anonymous, ...clients]) client.close();
  }
}

try {
  await main();
} catch (error) {
  const hint =
    error instanceof QuaysideError && error.status === null ? " Is Quayside running? Start it with 'npm start'." : "";
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}${hint}\n`);
  process.exitCode = 1;
}
