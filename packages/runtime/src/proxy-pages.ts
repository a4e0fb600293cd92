import type { IncomingMessage, ServerResponse } from "node:http";
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";

/** An answer of the proxy itself. Its sentence is plain text and is escaped where needed. */
export interface ProxyAnswer {
  status: 404 | 502 | 503;
  title: string;
  sentence: string;
}

export function unknownHost(hostName: string): ProxyAnswer {
  const shown = hostName === "" ? "This address" : hostName.slice(0, 253);
  return { status: 404, title: "No app here", sentence: `${shown} does not lead to an app.` };
}

export const NOT_RUNNING: ProxyAnswer = {
  status: 503,
  title: "Not running",
  sentence: "This app is not running right now. Try again in a moment.",
};

export const NO_ANSWER: ProxyAnswer = {
  status: 502,
  title: "No answer",
  sentence: "The app did not answer this request.",
};

/** Sends an answer of the proxy, as JSON when the client asks for it. Does nothing once a response has begun. */
export function sendAnswer(req: IncomingMessage, res: ServerResponse, answer: ProxyAnswer): void {
  if (res.headersSent || res.writableEnded) return;
  for (const name of res.getHeaderNames()) res.removeHeader(name);
  const { type, body } = render(req, answer);
  const retry = answer.status === 503 ? { "retry-after": "5" } : {};
  // A body that nobody reads any more must not be taken for the next request.
  const close = req.complete ? {} : { connection: "close" };
  res.writeHead(answer.status, {
    "content-type": type,
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    ...retry,
    ...close,
  });
  res.end(req.method === "HEAD" ? undefined : body);
}

/** Sends an answer on the bare socket of an upgrade request and ends it. */
export function sendAnswerOnSocket(req: IncomingMessage, socket: Duplex, answer: ProxyAnswer): void {
  const { type, body } = render(req, answer);
  const head = [
    `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}`,
    `content-type: ${type}`,
    `content-length: ${Buffer.byteLength(body)}`,
    ...(answer.status === 503 ? ["retry-after: 5"] : []),
    "cache-control: no-store",
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}

function render(req: IncomingMessage, answer: ProxyAnswer): { type: string; body: string } {
  if (/\bapplication\/json\b/i.test(req.headers.accept ?? "")) {
    const body = JSON.stringify({ status: answer.status, title: answer.title, detail: answer.sentence });
    return { type: "application/json; charset=utf-8", body };
  }
  const style =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto 0;padding:0 1rem;color-scheme:light dark}";
  const body =
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<title>${escapeHtml(answer.title)}</title><style>${style}</style></head>` +
    `<body><h1>${escapeHtml(answer.title)}</h1><p>${escapeHtml(answer.sentence)}</p></body></html>\n`;
  return { type: "text/html; charset=utf-8", body };
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
