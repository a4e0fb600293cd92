// A receiver of webhooks in a process of its own: counts, and measures how long after its event each request comes.
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { count } from "./statistics.ts";
import type { Question, ReceiverReport, SignedPost } from "./webhook-receiver.ts";

const KEPT_POSTS = 2_000;

let report: ReceiverReport = emptyReport();
let measuresDelay = false;
let limit: number | null = null;
let taken: number[] = [];

function emptyReport(): ReceiverReport {
  return {
    accepted: 0,
    refused: 0,
    refusedAfterRamp: 0,
    sentAfterRamp: 0,
    firstAt: 0,
    lastAt: 0,
    delay: {},
    posts: [],
  };
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    // A path of its own for receivers that never answer.
    if (request.url === "/hang") return;
    response.writeHead(note(request, chunks) ? 204 : 503).end();
  });
});

/** Whether the request is accepted. */
function note(request: IncomingMessage, chunks: readonly Buffer[]): boolean {
  const at = Date.now();
  if (report.firstAt === 0) report.firstAt = at;
  report.lastAt = at;
  if (measuresDelay) count(report.delay, at - Date.parse(JSON.parse(Buffer.concat(chunks).toString()).createdAt));
  else if (report.posts.length < KEPT_POSTS) report.posts.push(postOf(request, chunks));
  const afterRamp = at - report.firstAt > 10_000;
  if (afterRamp) report.sentAfterRamp += 1;
  if (limit !== null) {
    while ((taken[0] ?? at) <= at - 1_000) taken.shift();
    if (taken.length >= limit) {
      report.refused += 1;
      if (afterRamp) report.refusedAfterRamp += 1;
      return false;
    }
    taken.push(at);
  }
  report.accepted += 1;
  return true;
}

function postOf({ headers }: IncomingMessage, chunks: readonly Buffer[]): SignedPost {
  const { host, connection, "content-length": length, ...kept } = headers;
  return { headers: kept as Record<string, string>, body: Buffer.concat(chunks).toString() };
}

process.on("disconnect", () => process.exit(0));
process.on("message", (question: Question) => {
  const asked = report;
  if (question.begin) {
    report = emptyReport();
    taken = [];
    limit = question.begin.limit ?? null;
    measuresDelay = question.begin.measuresDelay ?? false;
  }
  process.send?.(question.withPosts ? asked : { ...asked, posts: [] });
});

server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
