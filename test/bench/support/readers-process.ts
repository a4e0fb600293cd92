// Many readers of one deployment's live log, each with a connection of its own. Says "connected" when all are
// subscribed, and the result when all have all lines or the time is up.
import WebSocket from "ws";
import { openEventStream } from "./event-stream.ts";
import type { ReadersJob, ReadersResult } from "./readers.ts";
import { count } from "./statistics.ts";

const AT_ONCE = 25;
const POLL_MS = 50;
const ANSWER_LIMIT_MS = 10_000;
const LINE = /"line":"line (\d+) (\d+)"/;

interface Reader {
  next: number;
  missing: number;
  doubled: number;
  cut: boolean;
  answered: boolean;
}

process.on("disconnect", () => process.exit(0));
process.once("message", async (job: ReadersJob) => {
  const delays: ReadersResult["delays"] = {};
  const readers: Reader[] = [];
  const open = job.kind === "sse" ? openSse : openWebSocket;
  for (let opened = 0; opened < job.readers; opened += AT_ONCE) {
    const group = Array.from({ length: Math.min(AT_ONCE, job.readers - opened) }, () => {
      const reader = { next: 1, missing: 0, doubled: 0, cut: false, answered: false };
      readers.push(reader);
      return open(job, reader, (text) => take(reader, text, delays)).then(() => {
        reader.answered = true;
      });
    });
    await Promise.race([Promise.all(group), new Promise((resolve) => setTimeout(resolve, ANSWER_LIMIT_MS))]);
  }
  process.send?.("connected");
  const deadline = performance.now() + job.timeoutMs;
  while (readers.some(({ next, answered }) => answered && next <= job.lines) && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  const perfect = readers.filter(({ next, missing, doubled }) => next > job.lines && missing === 0 && doubled === 0);
  const result: ReadersResult = {
    perfect: perfect.length,
    missing: readers.reduce((sum, { next, missing }) => sum + missing + Math.max(0, job.lines + 1 - next), 0),
    doubled: readers.reduce((sum, { doubled }) => sum + doubled, 0),
    cut: readers.filter(({ cut }) => cut).length,
    unanswered: readers.filter(({ answered }) => !answered).length,
    delays,
  };
  process.send?.(result);
});

function take(reader: Reader, text: string, delays: ReadersResult["delays"]): void {
  const found = LINE.exec(text);
  if (!found) return;
  count(delays, Date.now() - Number(found[2]));
  const number = Number(found[1]);
  if (number < reader.next) reader.doubled += 1;
  else {
    reader.missing += number - reader.next;
    reader.next = number + 1;
  }
}

async function openSse(job: ReadersJob, reader: Reader, onText: (text: string) => void): Promise<void> {
  const url = `${job.baseUrl}/api/deployments/${job.deploymentId}/logs?follow=1`;
  await openEventStream(url, job.key, onText, () => {
    reader.cut = true;
  });
}

/** tRPC over WebSocket, as any client speaks it: one message subscribes, and each line comes as a message. */
function openWebSocket(job: ReadersJob, reader: Reader, onText: (text: string) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${job.key}` };
    const socket = new WebSocket(`${job.baseUrl.replace(/^http/, "ws")}/trpc`, { headers, perMessageDeflate: false });
    const params = { path: "hosting.deployments.logs", input: { id: job.deploymentId, follow: "1" } };
    socket.on("open", () => socket.send(JSON.stringify({ id: 1, method: "subscription", params })));
    socket.on("message", (data) => {
      const text = String(data);
      if (text.includes('"type":"started"')) resolve();
      else if (text.includes('"error":')) reject(new Error(text));
      else onText(text);
    });
    socket.on("error", reject);
    socket.on("close", () => {
      reader.cut = true;
    });
  });
}
