import { setTimeout as sleep } from "node:timers/promises";
import { startHelper } from "./children.ts";
import type { Histogram } from "./statistics.ts";

/** A delivery as it came over the wire. */
export interface SignedPost {
  headers: Record<string, string>;
  body: string;
}

export interface ReceiverReport {
  accepted: number;
  refused: number;
  /** Of those that came more than 10 s after the first. */
  refusedAfterRamp: number;
  sentAfterRamp: number;
  /** Unix milliseconds of the first and the last request; 0 before there was one. */
  firstAt: number;
  lastAt: number;
  /** From the time of the event to the request. */
  delay: Histogram;
  posts: SignedPost[];
}

export interface Begin {
  /** So many in any second, and 503 for the rest. */
  limit?: number;
  measuresDelay?: boolean;
}

export interface Question {
  /** Begins a report anew. */
  begin?: Begin;
  withPosts?: boolean;
}

export interface BenchReceiver {
  url: string;
  /** Never answers. */
  hangingUrl: string;
  begin(how?: Begin): Promise<void>;
  report(withPosts?: boolean): Promise<ReceiverReport>;
  /** The report once so many were accepted. */
  untilAccepted(count: number): Promise<ReceiverReport>;
  stop(): Promise<void>;
}

const ASK_EVERY_MS = 20;

export async function startReceiver(): Promise<BenchReceiver> {
  const helper = startHelper("support/webhook-receiver-process.ts");
  const { port } = await helper.receive<{ port: number }>();
  const ask = (question: Question) => helper.ask<ReceiverReport>(question);
  return {
    url: `http://127.0.0.1:${port}/hook`,
    hangingUrl: `http://127.0.0.1:${port}/hang`,
    begin: async (how = {}) => void (await ask({ begin: how })),
    report: (withPosts = false) => ask({ withPosts }),
    async untilAccepted(count) {
      for (;;) {
        const report = await ask({});
        if (report.accepted >= count) return report;
        await sleep(ASK_EVERY_MS);
      }
    },
    stop: () => helper.stop(),
  };
}
