import { type IncomingHttpHeaders, request } from "node:http";

export interface RawRequest {
  method?: string;
  /** Sent as it is; `fetch` would tidy it up. */
  path: string;
  headers?: Record<string, string>;
  /** Sent one after another, chunked unless a Content-Length is given. */
  chunks?: readonly (string | Buffer)[];
}

export interface RawReply {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** A request without the comforts of `fetch`, which cleans paths, sets lengths and hides headers. */
export function sendRaw(baseUrl: string, { method = "GET", path, headers = {}, chunks = [] }: RawRequest) {
  const { hostname, port } = new URL(baseUrl);
  return new Promise<RawReply>((resolve, reject) => {
    const req = request({ host: hostname, port, method, path, headers, agent: false }, (res) => {
      const parts: Buffer[] = [];
      res.on("data", (part: Buffer) => parts.push(part));
      res.on("end", () => {
        resolve({ status: res.statusCode ?? 0, headers: res.headers, text: Buffer.concat(parts).toString() });
      });
      res.on("error", reject);
    });
    req.on("error", reject);
    for (const chunk of chunks) req.write(chunk);
    req.end();
  });
}
