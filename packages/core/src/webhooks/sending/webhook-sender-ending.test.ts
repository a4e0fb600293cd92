import { expect, test, vi } from "vitest";
import { deliver, rawReceiverOf, receiverOf, senderOf } from "./testing/receivers.ts";

test("a delivery that is called off before it begins connects to nothing", async () => {
  const receiver = await receiverOf((_req, res) => res.end());
  const outcome = await deliver(senderOf(), receiver.url, AbortSignal.abort());
  expect(outcome).toMatchObject({ statusCode: null, error: { class: "aborted" }, address: null });
  expect(receiver.sockets).toHaveLength(0);
});

test("a delivery can be called off while its host is looked up", async () => {
  const calledOff = new AbortController();
  const lookup = vi.fn(() => {
    setImmediate(() => calledOff.abort());
    return new Promise<never>(() => {});
  });
  const outcome = await deliver(senderOf({ lookup }), "http://hooks.example.test/", calledOff.signal);
  expect(outcome.error).toMatchObject({ class: "aborted" });
});

test.each([
  ["waits for the answer", ""],
  ["reads the answer", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel"],
])("a delivery can be called off while it %s, and its connection is closed", async (_what, text) => {
  const calledOff = new AbortController();
  const receiver = await rawReceiverOf((socket) => {
    socket.once("data", () => {
      socket.write(text);
      setTimeout(() => calledOff.abort(), 50);
    });
  });
  const outcome = await deliver(senderOf(), receiver.url, calledOff.signal);
  expect(outcome.error).toMatchObject({ class: "aborted" });
  await receiver.closed(0);
});

test("a delivery that waits for a free connection can be called off, and the next one gets the place", async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const receiver = await receiverOf(async (_req, res) => {
    await held;
    res.end("ok");
  });
  const sender = senderOf({ timeoutMs: 20_000 });
  const first = Array.from({ length: 64 }, () => deliver(sender, receiver.url));
  const calledOff = new AbortController();
  const waiting = deliver(sender, receiver.url, calledOff.signal);
  const next = deliver(sender, receiver.url);
  calledOff.abort();
  expect((await waiting).error).toMatchObject({ class: "aborted" });
  release();
  expect((await Promise.all([...first, next])).every(({ statusCode }) => statusCode === 200)).toBe(true);
  expect(receiver.sockets).toHaveLength(64);
});

test("a receiver that holds all its connections does not hold up another one", async () => {
  const stuck = await receiverOf(() => {});
  const quick = await receiverOf((_req, res) => res.end("ok"));
  const sender = senderOf({ timeoutMs: 2_000 });
  const held = Array.from({ length: 70 }, () => deliver(sender, stuck.url));
  const outcome = await deliver(sender, quick.url);
  expect(outcome).toMatchObject({ statusCode: 200, error: null });
  expect(outcome.durationMs).toBeLessThan(1_500);
  sender.close();
  await Promise.all(held);
});

test("closing calls off what is under way, closes kept connections and refuses more", async () => {
  const receiver = await receiverOf((req, res) => {
    if (req.url === "/hook") res.end("ok");
  });
  const sender = senderOf();
  await deliver(sender, receiver.url);
  const [first] = receiver.sockets;
  const underWay = deliver(sender, `${receiver.url}/hangs`);
  await vi.waitFor(() => expect(first?.bytesRead).toBeGreaterThan(200));
  sender.close();
  expect((await underWay).error).toEqual({ class: "aborted", message: "The sender was closed." });
  await receiver.closed(0);
  expect((await deliver(sender, receiver.url)).error).toMatchObject({ class: "aborted" });
  expect(receiver.sockets).toHaveLength(1);
});

test("many deliveries under one signal leave no listener behind", async () => {
  const receiver = await receiverOf((_req, res) => res.end("ok"));
  const warnings: string[] = [];
  const note = (warning: Error) => warnings.push(warning.message);
  process.on("warning", note);
  const sender = senderOf();
  const { signal } = new AbortController();
  const added = vi.spyOn(signal, "addEventListener");
  const removed = vi.spyOn(signal, "removeEventListener");
  await Promise.all(Array.from({ length: 40 }, () => deliver(sender, receiver.url, signal)));
  process.off("warning", note);
  expect(removed).toHaveBeenCalledTimes(added.mock.calls.length);
  expect(warnings).toEqual([]);
});
