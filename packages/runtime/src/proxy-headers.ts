import type { IncomingMessage } from "node:http";

/** What a message cannot be understood without, whatever `Connection` says; "close" and "keep-alive" name no header. */
const KEPT_HEADERS = new Set([
  "host",
  "content-length",
  "transfer-encoding",
  "content-type",
  "upgrade",
  "authorization",
]);

/** Host name of a request: lower case, without port and trailing dot. Empty when there is none. */
export function hostNameOf(req: IncomingMessage): string {
  return normalHostName(req.headers.host ?? "");
}

export function normalHostName(host: string): string {
  const name = host.startsWith("[") ? host.replace(/\]:\d*$/, "]") : host.replace(/:\d*$/, "");
  return name.toLowerCase().replace(/\.$/, "");
}

/** Replaces what a client claims about the way it came by what is known about it. */
export function setForwardedHeaders(req: IncomingMessage): void {
  for (const name of Object.keys(req.headers)) {
    if (name === "forwarded" || name.startsWith("x-forwarded-") || name === "x-real-ip") delete req.headers[name];
  }
  req.headers["x-forwarded-for"] = req.socket.remoteAddress ?? "";
  req.headers["x-forwarded-proto"] = "http";
  req.headers["x-forwarded-host"] = req.headers.host ?? "";
  // The proxy has answered it already.
  delete req.headers.expect;
}

/** Makes a request target relative: a client may send the absolute form, an app expects a path. */
export function setRelativeTarget(req: IncomingMessage): void {
  const target = req.url ?? "/";
  if (target.startsWith("/")) return;
  const url = URL.parse(target);
  req.url = url === null ? "/" : `${url.pathname}${url.search}`;
}

/** Takes off the headers that `Connection` names: they are for the next hop only (RFC 9110, section 7.6.1). */
export function removeConnectionHeaders(message: IncomingMessage): void {
  for (const option of (message.headers.connection ?? "").toLowerCase().split(",")) {
    const name = option.trim();
    if (name !== "" && !KEPT_HEADERS.has(name)) delete message.headers[name];
  }
}

/** Takes off what speaks of this connection only, such as an offer of HTTP/2, which the app must not accept for it. */
export function removeUpgrade(req: IncomingMessage, keepAlive: boolean): void {
  removeConnectionHeaders(req);
  for (const name of ["upgrade", "http2-settings", "keep-alive", "proxy-connection"]) delete req.headers[name];
  req.headers.connection = keepAlive ? "keep-alive" : "close";
}
