import type { BareSend } from "../baseline/webhook-posts.ts";
import type { Bench, Benchmark } from "../support/bench.ts";
import { startHelper } from "../support/children.ts";
import type { Figure } from "../support/figures.ts";
import { median, percentile } from "../support/statistics.ts";
import { type WebhookBench, withWebhooks } from "../support/webhooks.ts";

/** From the time of an event to its request at a receiver, at a rate that goes on whatever happens. */
export const webhookDelay: Benchmark = {
  name: "webhook-delay",
  measure: (bench) => withWebhooks(bench, measureDelay),
};

const PER_SECOND = 100;
const SECONDS = 20;

async function measureDelay({ subscribe, makePeople, receiver }: WebhookBench): Promise<Figure[]> {
  await subscribe();
  await receiver.begin({ measuresDelay: true });
  await makePeople(PER_SECOND, 5 * PER_SECOND);
  await receiver.untilAccepted(5 * PER_SECOND);
  await receiver.begin({ measuresDelay: true });
  const events = PER_SECOND * SECONDS;
  await makePeople(PER_SECOND, events);
  const { delay } = await receiver.untilAccepted(events);
  const figure = (name: string, share: number, target: number): Figure => ({
    figure: `event to webhook request at ${PER_SECOND} events/s, ${name}`,
    value: percentile(delay, share),
    unit: "ms",
    target: { rule: "at most", value: target },
  });
  const note = `${events} events; the longest ${percentile(delay, 1)} ms`;
  return [{ ...figure("p50", 0.5, 25), note }, figure("p99", 0.99, 100)];
}

/** Deliveries that wait for one receiver, beside a bare loop that posts the same signed bodies as many at once. */
export const webhookThroughput: Benchmark = {
  name: "webhook-throughput",
  measure: (bench) => withWebhooks(bench, measureThroughput),
};

const DELIVERIES = 20_000;
const AT_ONCE = 20;
const ROUNDS = 5;

async function measureThroughput(webhooks: WebhookBench): Promise<Figure[]> {
  const endpointId = await webhooks.subscribe();
  const bare = startHelper("baseline/webhook-posts.ts");
  const { receiver } = webhooks;
  const ours = async (): Promise<number> => {
    await webhooks.fill(endpointId, DELIVERIES);
    await receiver.begin();
    await webhooks.wake(endpointId);
    const { firstAt, lastAt } = await receiver.untilAccepted(DELIVERIES);
    return (DELIVERIES * 1_000) / (lastAt - firstAt);
  };
  const theirs = async (posts: BareSend["posts"]): Promise<number> => {
    await receiver.begin();
    await bare.ask({ url: receiver.url, posts, count: DELIVERIES, atOnce: AT_ONCE } satisfies BareSend);
    const { firstAt, lastAt } = await receiver.report();
    return (DELIVERIES * 1_000) / (lastAt - firstAt);
  };
  try {
    await bare.receive();
    await ours();
    const { posts } = await receiver.report(true);
    await theirs(posts);
    const rounds: { ours: number; bare: number }[] = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push({ ours: await ours(), bare: await theirs(posts) });
    const ratios = rounds.map((round) => round.ours / round.bare);
    return [
      {
        figure: `webhooks a second, ${AT_ONCE} at once`,
        value: median(rounds.map((round) => round.ours)),
        unit: "req/s",
        baseline: median(rounds.map((round) => round.bare)),
        ratio: median(ratios),
        target: { rule: "ratio at least", value: 0.5 },
        note: `pairs ${ratios.map((ratio) => ratio.toFixed(2)).join(" ")}`,
      },
    ];
  } finally {
    await bare.stop();
  }
}

/** A receiver that answers 503 to whatever comes above 50 in a second, and 10,000 deliveries for it. */
export const webhookLimit: Benchmark = {
  name: "webhook-limit",
  limitMs: 500_000,
  measure: (bench) => withWebhooks(bench, measureLimit),
};

const LIMIT = 50;
const LIMITED = 10_000;

async function measureLimit({ subscribe, fill, wake, receiver, sql }: WebhookBench): Promise<Figure[]> {
  const endpointId = await subscribe();
  await fill(endpointId, LIMITED);
  await receiver.begin({ limit: LIMIT });
  await wake(endpointId);
  const report = await receiver.untilAccepted(LIMITED);
  const { refused, refusedAfterRamp, sentAfterRamp, firstAt, lastAt } = report;
  const [row] = await sql<{ failed: number }[]>`
    SELECT count(*)::int AS failed FROM webhook_deliveries WHERE endpoint_id = ${endpointId} AND status = 'failed'`;
  const seconds = (lastAt - firstAt) / 1_000;
  const text = LIMITED.toLocaleString("en");
  return [
    {
      figure: `${text} webhooks to a receiver that takes ${LIMIT}/s: never delivered`,
      value: row?.failed ?? 0,
      unit: "requests",
      target: { rule: "at most", value: 0 },
      note: `in ${seconds.toFixed(0)} s; ${(LIMITED / LIMIT).toFixed(0)} s at best`,
    },
    {
      figure: "of these refused after a ramp of 10 s",
      value: (100 * refusedAfterRamp) / sentAfterRamp,
      unit: "%",
      target: { rule: "at most", value: 5 },
      note: `${refusedAfterRamp} of ${sentAfterRamp}; ${refused} in all`,
    },
  ];
}

/** The delay of one organization's webhooks while the receivers of another hang, beside the delay without. */
export const webhookNeighbour: Benchmark = {
  name: "webhook-neighbour",
  measure: (bench: Bench) => withWebhooks(bench, measureNeighbour),
};

const NEIGHBOUR_PER_SECOND = 50;
const NEIGHBOUR_EVENTS = 500;
const NEIGHBOUR_PAIRS = 4;

async function measureNeighbour(webhooks: WebhookBench): Promise<Figure[]> {
  const { receiver, sql } = webhooks;
  await webhooks.subscribe();
  const p99 = async (): Promise<number> => {
    await receiver.begin({ measuresDelay: true });
    await webhooks.makePeople(NEIGHBOUR_PER_SECOND, NEIGHBOUR_EVENTS);
    return percentile((await receiver.untilAccepted(NEIGHBOUR_EVENTS)).delay, 0.99);
  };
  const hanging = await otherOrganization(webhooks);
  await p99();
  const pairs: { alone: number; beside: number }[] = [];
  for (let pair = 0; pair < NEIGHBOUR_PAIRS; pair++) {
    const alone = await p99();
    const endpoints = await hanging.begin();
    pairs.push({ alone, beside: await p99() });
    await sql`DELETE FROM webhook_endpoints WHERE id = ANY (${endpoints}::uuid[])`;
  }
  const ratios = pairs.map(({ alone, beside }) => beside / alone);
  return [
    {
      figure: "event to webhook request beside an organization that hangs, p99",
      value: median(pairs.map(({ beside }) => beside)),
      unit: "ms",
      baseline: median(pairs.map(({ alone }) => alone)),
      ratio: median(ratios),
      target: { rule: "ratio at most", value: 1.2 },
      note: `pairs ${ratios.map((ratio) => ratio.toFixed(2)).join(" ")}`,
    },
  ];
}

/** Three endpoints that hang, with a thousand deliveries each. */
async function otherOrganization({ sql, receiver, subscribe, fill, wake }: WebhookBench) {
  const [organization] = await sql<{ id: string }[]>`
    INSERT INTO organizations (id, slug, name) VALUES (gen_random_uuid(), 'hanging', 'Hanging') RETURNING id`;
  return {
    async begin(): Promise<string[]> {
      const endpoints = await Promise.all([1, 2, 3].map(() => subscribe(receiver.hangingUrl)));
      await sql`
        UPDATE webhook_endpoints SET organization_id = ${organization?.id ?? ""} WHERE id = ANY (${endpoints}::uuid[])`;
      for (const id of endpoints) {
        await fill(id, 1_000);
        await wake(id);
      }
      return endpoints;
    },
  };
}
