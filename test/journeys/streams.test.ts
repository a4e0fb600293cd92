import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openApp } from "../support/apps.ts";
import { createDeployer, type Deployer } from "../support/deploying.ts";
import { type EventStream, openEventStream, type StreamEvent } from "../support/event-stream.ts";
import { createRepository, type GitRepository, webApp } from "../support/git-repository.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { until } from "../support/until.ts";

describe("following a deployment", () => {
  let quayside: TestQuayside;
  let repository: GitRepository;
  let token: string;
  let app: Deployer;
  let deploymentId: string;

  beforeAll(async () => {
    quayside = await startTestQuayside();
    token = (await quayside.makeKey(quayside.adminToken)).secret;
    repository = createRepository();
    app = await createDeployer(quayside, token, repository);
    deploymentId = (await app.deploy(repository.commit(webApp("streamed")))).id;
  });

  afterAll(async () => {
    await quayside?.stop();
    repository?.remove();
  });

  const authorization = () => ({ authorization: `Bearer ${token}` });
  const streamUrl = () => `${quayside.baseUrl}/api/deployments/${deploymentId}/stream`;
  const logsUrl = (query: string) => `${quayside.baseUrl}/api/deployments/${deploymentId}/logs?${query}`;

  /** The events up to the first for which `enough` holds, then leaves. */
  async function take(stream: EventStream, enough: (event: StreamEvent, count: number) => boolean) {
    const events: StreamEvent[] = [];
    for await (const event of stream) {
      events.push(event);
      if (enough(event, events.length)) break;
    }
    return events;
  }

  it("tells a late reader the whole story, with rising ids", async () => {
    const stream = await openEventStream(streamUrl(), authorization());
    expect(stream.status).toBe(200);
    const events = await take(stream, ({ data }) => data.includes('"deployed"'));
    expect(events.map(({ event }) => event)).toEqual(events.map(() => "update"));
    const updates = events.map(({ data }) => JSON.parse(data));
    expect(updates.map(({ status }) => status)).toEqual(["queued", "building", "deploying", "deployed"]);
    for (const update of updates) expect(Object.keys(update).sort()).toEqual(["message", "status"]);
    const ids = events.map(({ id }) => Number(id));
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
  });

  it("goes on after Last-Event-ID without loss or repetition", async () => {
    const all = await take(await openEventStream(streamUrl(), authorization()), ({ data }) =>
      data.includes('"deployed"'),
    );
    const second = all[1]?.id ?? "";
    const stream = await openEventStream(streamUrl(), { ...authorization(), "last-event-id": second });
    const rest = await take(stream, ({ data }) => data.includes('"deployed"'));
    expect(rest).toEqual(all.slice(2));
  });

  it("brings new updates to every reader as they happen", async () => {
    const streams = await Promise.all(Array.from({ length: 20 }, () => openEventStream(streamUrl(), authorization())));
    const readers = streams.map((stream) => take(stream, ({ data }) => data.includes("looked-at")));
    const change = await quayside.call("PATCH", `/api/deployments/${deploymentId}`, {
      token,
      body: { status: "looked-at" },
    });
    expect(change.body).toMatchObject({ id: deploymentId, status: "looked-at" });
    const stories = await Promise.all(readers);
    for (const story of stories) expect(story).toEqual(stories[0]);
  });

  it("refuses a stream to strangers and to other organizations", async () => {
    expect((await openEventStream(streamUrl(), {})).status).toBe(401);
    const { token: foreign } = await quayside.signUp("stranger");
    const reply = await quayside.call("GET", `/api/deployments/${deploymentId}/stream`, { token: foreign });
    expect(reply.status).toBe(404);
    expect(reply.body).toEqual({ error: expect.stringContaining(deploymentId) });
    expect((await quayside.call("GET", `/api/deployments/${deploymentId}/logs`, { token: foreign })).status).toBe(404);
  });

  it("follows the log as text while the app prints", async () => {
    const response = await fetch(logsUrl("follow=1&since=1h"), { headers: authorization() });
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    await openApp(quayside.appsPort, `${app.slug}.localhost`, "/a-line-to-follow");
    let text = "";
    while (!text.includes("GET /a-line-to-follow\n")) text += (await reader?.read())?.value ?? "";
    await reader?.cancel();
    expect(text).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z web GET \/a-line-to-follow$/m);
  });

  it("follows the log as events, and resumes by id", async () => {
    const stream = await openEventStream(logsUrl("follow=1&since=1h"), authorization());
    const events = await take(stream, ({ data }) => data.includes("listening"));
    expect(events.every(({ event }) => event === "log")).toBe(true);
    const last = JSON.parse(events.at(-1)?.data ?? "");
    expect(last).toEqual({ at: expect.any(String), component: "web", stream: "stdout", line: "listening" });
    const resumed = await openEventStream(logsUrl("follow=1"), {
      ...authorization(),
      "last-event-id": events.at(-1)?.id ?? "",
    });
    const next = take(resumed, ({ data }) => data.includes("/after-resume"));
    await openApp(quayside.appsPort, `${app.slug}.localhost`, "/after-resume");
    const seen = new Set(events.map(({ id }) => id));
    for (const { id } of await next) expect(seen.has(id)).toBe(false);
  });

  it("ends a stream whose key is revoked", async () => {
    const key = await quayside.makeKey(quayside.adminToken);
    const stream = await openEventStream(streamUrl(), { authorization: `Bearer ${key.secret}` });
    const reading = (async () => {
      for await (const event of stream) expect(event.event).toBe("update");
    })();
    await quayside.call("DELETE", `/v1/crm/api-keys/${key.id}`, { token: quayside.adminToken });
    // The connection is cut; how the client's fetch calls that does not matter.
    await reading.catch((error: unknown) => expect(error).toBeInstanceOf(TypeError));
  });

  it("gives the lines of a component, and none of one that there is not", async () => {
    expect(await app.logs(deploymentId, "component=web&since=1h")).toContain("listening");
    expect(await app.logs(deploymentId, "component=worker&since=1h")).toBe("");
  });

  it("gives the lines since a time", async () => {
    await openApp(quayside.appsPort, `${app.slug}.localhost`, "/marker");
    await until("the marker is stored", async () => (await app.logs(deploymentId)).includes("/marker"));
    const line = (await app.logs(deploymentId)).split("\n").find((candidate) => candidate.includes("/marker")) ?? "";
    const since = encodeURIComponent(line.split(" ")[0] ?? "");
    const later = await app.logs(deploymentId, `since=${since}`);
    expect(later).toContain("/marker");
    expect(later).not.toContain("Checked out");
  });
});
