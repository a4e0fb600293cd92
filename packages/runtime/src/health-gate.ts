import { type ClientRequest, request } from "node:http";
import { type HealthSettings, type ProcessState, type StepContext, StepFailure } from "@quayside/contracts";
import type { HealthPace } from "./options.ts";
import { errorCode, pause } from "./wait.ts";

const PROBE_LIMIT_MS = 2_000;
/** A probe with less time than this says nothing by running out of it. */
const FAIR_LIMIT_MS = 200;
const NO_RESULT = "no answer";

export interface HealthGateRequest {
  port: number;
  health: HealthSettings;
  pace: HealthPace;
  state(): Promise<ProcessState>;
  step: StepContext;
}

interface ProbeResult {
  passed: boolean;
  /** What came back, for a message. */
  said: string;
  timedOut?: boolean;
}

/**
 * Resolves when the app has passed: consecutive passes, then a bake during which it must stay alive, then one more pass.
 * Throws StepFailure `health-check` when the app ends or the time is up.
 */
export async function waitUntilHealthy(gate: HealthGateRequest): Promise<void> {
  const { pace, health, step } = gate;
  const deadline = performance.now() + health.timeoutMs;
  let last = NO_RESULT;
  let inARow = 0;
  while (performance.now() < deadline) {
    await refuseEnded(gate);
    const limitMs = Math.max(1, Math.min(PROBE_LIMIT_MS, deadline - performance.now()));
    const result = await probe(gate.port, health.path, limitMs, step.signal);
    // The last probe may be cut short by the end of the time; what came before it says more.
    const cutShort = result.timedOut === true && limitMs < FAIR_LIMIT_MS;
    if (!cutShort || last === NO_RESULT) last = result.said;
    inARow = result.passed ? inARow + 1 : 0;
    if (inARow >= pace.passes) {
      await bake(gate);
      const final = await probe(gate.port, health.path, PROBE_LIMIT_MS, step.signal);
      await refuseEnded(gate);
      if (final.passed) return;
      last = final.said;
      inARow = 0;
    }
    await pause(pace.intervalMs, step.signal);
  }
  await refuseEnded(gate);
  throw failure(timeoutMessage(gate, last));
}

async function bake(gate: HealthGateRequest): Promise<void> {
  const until = performance.now() + gate.pace.bakeMs;
  for (let left = gate.pace.bakeMs; left > 0; left = until - performance.now()) {
    await pause(Math.min(left, gate.pace.intervalMs), gate.step.signal);
    await refuseEnded(gate);
  }
}

async function refuseEnded(gate: HealthGateRequest): Promise<void> {
  const state = await gate.state();
  if (state.running) return;
  const how =
    state.exitCode !== null
      ? `exited with code ${state.exitCode}`
      : state.signal !== null
        ? `was ended by ${state.signal}`
        : "ended";
  throw failure(`the app ${how} before it was healthy; its output says more`);
}

function timeoutMessage({ health, port }: HealthGateRequest, last: string): string {
  const allowed = `within ${health.timeoutMs / 1000} s`;
  if (last === "ECONNREFUSED") {
    return `nothing listened on PORT=${port} ${allowed}; the app must listen on the port in its PORT variable`;
  }
  return `GET ${health.path ?? "/"} did not pass ${allowed}; the last result was ${last}`;
}

function failure(message: string): StepFailure {
  return new StepFailure("health-check", message);
}

/** One request on a connection of its own. Redirects are not followed, the body is not read. */
function probe(port: number, path: string | null, limitMs: number, signal: AbortSignal): Promise<ProbeResult> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const end = (result: ProbeResult) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      sent?.destroy();
      if (signal.aborted) reject(signal.reason);
      else resolve(result);
    };
    const onAbort = () => end({ passed: false, said: "stopped" });
    const timer = setTimeout(
      () => end({ passed: false, said: `no answer in ${Math.round(limitMs)} ms`, timedOut: true }),
      limitMs,
    );
    signal.addEventListener("abort", onAbort, { once: true });
    let sent: ClientRequest | undefined;
    try {
      const headers = { host: "localhost", "user-agent": "quayside-health", connection: "close" };
      sent = request({ host: "127.0.0.1", port, path: path ?? "/", agent: false, headers });
      sent.on("response", ({ statusCode = 0 }) => {
        const passed = path === null ? statusCode < 500 : statusCode >= 200 && statusCode < 400;
        end({ passed, said: `status ${statusCode}` });
      });
      sent.on("error", (error) => end({ passed: false, said: errorCode(error) ?? error.message }));
      sent.end();
    } catch (error) {
      end({ passed: false, said: error instanceof Error ? error.message : "a request that cannot be sent" });
    }
  });
}
