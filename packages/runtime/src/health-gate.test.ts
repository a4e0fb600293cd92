import { StepFailure } from "@quayside/contracts";
import { describe, expect, it } from "vitest";
import { recordingStep, startFiles, testRuntime } from "./test-support.ts";

const serve = (handler: string) =>
  `require("node:http").createServer((req, res) => { ${handler} }).listen(Number(process.env.PORT), "127.0.0.1");`;

async function gate(code: string, path: string | null, timeoutMs = 10_000, step = recordingStep()) {
  const made = testRuntime();
  const app = await startFiles(made, { "index.js": code }, "node index.js");
  return { app, made, step, wait: made.runtime.waitUntilHealthy(app.releaseId, app, { path, timeoutMs }, step) };
}

async function failureOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => new Error("it was healthy"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof StepFailure)) throw error;
  expect(error.step).toBe("health-check");
  return error.message;
}

describe("waitUntilHealthy", () => {
  it.each([
    ["an answer below 500 without a path", "res.statusCode = 404; res.end()", null],
    ["a 2xx", "res.statusCode = req.url === '/up' && req.headers.host === 'localhost' ? 204 : 500; res.end()", "/up"],
    ["a redirect, which is not followed", "res.writeHead(302, { location: 'http://127.0.0.1:1/' }); res.end()", "/up"],
    ["an endless body", "res.write('x'); setInterval(() => res.write('x'), 5)", "/up"],
  ])("passes on %s", async (_what, handler, path) => {
    const { wait } = await gate(serve(handler), path);
    await wait;
  });

  it("needs passes in a row", async () => {
    const flaky = serve(
      "global.n = (global.n ?? 0) + 1; res.statusCode = global.n === 2 ? 500 : 200; res.end(String(global.n))",
    );
    const { wait, app } = await gate(flaky, "/");
    await wait;
    // Pass, failure, two passes, the final pass: this is the sixth request.
    expect(await (await fetch(`http://127.0.0.1:${app.port}/`)).text()).toBe("6");
  });

  it("says path, last result and time when the app keeps failing", async () => {
    const { wait } = await gate(serve("res.statusCode = 503; res.end()"), "/up", 1_000);
    expect(await failureOf(wait)).toBe("GET /up did not pass within 1 s; the last result was status 503");
    const notFound = await gate(serve("res.statusCode = 404; res.end()"), "/up", 1_000);
    expect(await failureOf(notFound.wait)).toContain("status 404");
  });

  it("reminds of PORT when nothing listens there", async () => {
    const { wait, app } = await gate("setInterval(() => {}, 1000)", null, 400);
    expect(await failureOf(wait)).toContain(`nothing listened on PORT=${app.port} within 0.4 s`);
  });

  it("gives up on an app that accepts and never answers", async () => {
    const { wait } = await gate(serve(""), null, 1_000);
    expect(await failureOf(wait)).toContain("no answer in");
  });

  it("says at once that the app exited, and with which code", async () => {
    const { wait } = await gate("process.exit(1)", null, 60_000);
    expect(await failureOf(wait)).toContain("the app exited with code 1 before it was healthy");
  });

  it("fails when the app dies during the bake", async () => {
    const dies = serve(
      "res.end(); global.n = (global.n ?? 0) + 1; if (global.n === 2) setTimeout(() => process.exit(9), 10)",
    );
    const { wait } = await gate(dies, "/", 60_000);
    expect(await failureOf(wait)).toContain("exited with code 9");
  });

  it("rejects with the reason when aborted", async () => {
    const step = recordingStep();
    const { wait } = await gate(serve(""), null, 60_000, step);
    step.abort.abort(new Error("cancelled"));
    await expect(wait).rejects.toThrow("cancelled");
  });
});
