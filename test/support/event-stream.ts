/** One server-sent event. */
export interface StreamEvent {
  id: string | null;
  event: string;
  data: string;
}

export interface EventStream extends AsyncIterable<StreamEvent> {
  status: number;
  close(): void;
}

/** Opens a real SSE connection and yields its events until it is closed. */
export async function openEventStream(url: string, headers: Record<string, string>): Promise<EventStream> {
  const abort = new AbortController();
  const response = await fetch(url, { headers: { accept: "text/event-stream", ...headers }, signal: abort.signal });
  return {
    status: response.status,
    close: () => abort.abort(),
    async *[Symbol.asyncIterator]() {
      let buffer = "";
      try {
        for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
          buffer += chunk;
          for (let end = buffer.indexOf("\n\n"); end >= 0; end = buffer.indexOf("\n\n")) {
            const event = parse(buffer.slice(0, end));
            buffer = buffer.slice(end + 2);
            if (event) yield event;
          }
        }
      } catch (error) {
        if (!abort.signal.aborted) throw error;
      } finally {
        abort.abort();
      }
    },
  };
}

function parse(block: string): StreamEvent | null {
  const event: StreamEvent = { id: null, event: "message", data: "" };
  let seen = false;
  for (const line of block.split("\n")) {
    const [, field, value] = /^(id|event|data):? ?(.*)$/.exec(line) ?? [];
    if (field === "id") event.id = value ?? "";
    if (field === "event") event.event = value ?? "";
    if (field === "data") event.data += value ?? "";
    seen ||= field !== undefined;
  }
  return seen ? event : null;
}
