import { get, type IncomingMessage } from "node:http";

export interface EventStream {
  close(): void;
}

/** Opens server-sent events and hands over each event's text. Resolves once the answer has begun. */
export function openEventStream(
  url: string,
  key: string,
  onEvent: (event: string) => void,
  onEnd: () => void = () => {},
): Promise<EventStream> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, accept: "text/event-stream" };
    const req = get(url, { agent: false, headers }, (res) => {
      if (res.statusCode !== 200) return reject(new Error(`${url} answered ${res.statusCode}.`));
      req.off("error", reject).on("error", onEnd);
      readEvents(res, onEvent);
      res.on("close", onEnd).on("error", onEnd);
      resolve({ close: () => req.destroy() });
    });
    req.on("error", reject);
  });
}

function readEvents(res: IncomingMessage, onEvent: (event: string) => void): void {
  let rest = "";
  res.setEncoding("utf8").on("data", (text: string) => {
    const events = (rest + text).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) onEvent(event);
  });
}
