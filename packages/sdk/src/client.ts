// The type alone: nothing of the server is in what the SDK ships.
import type { AppRouter } from "@quayside/api";
import type { LogEntry } from "@quayside/contracts";
import {
  createTRPCClient,
  createWSClient,
  httpBatchLink,
  httpSubscriptionLink,
  splitLink,
  type TRPCClient,
  type TRPCLink,
  type TRPCWebSocketClient,
  wsLink,
} from "@trpc/client";
import { observable } from "@trpc/server/observable";
import { EventSource } from "eventsource";
import { toQuaysideError } from "./errors.ts";
import { follow } from "./follow.ts";

const MAX_BATCH_SIZE = 20;

type BatchFetch = NonNullable<Parameters<typeof httpBatchLink>[0]["fetch"]>;

export interface QuaysideOptions {
  /** Where Quayside answers, e.g. `http://localhost:4000`. */
  baseUrl: string;
  /** API key, session token, role token or JWT; or a function that returns it. In a browser the session cookie serves. */
  token?: string | (() => string | undefined);
  /** How streams travel; `websocket` by default, `sse` where WebSockets do not get through. */
  streams?: "websocket" | "sse";
  /** In place of the global one. */
  fetch?: typeof fetch;
}

export interface DeploymentUpdate {
  id: string;
  status: string;
  message: string;
}

export interface Quayside {
  /** Every procedure, typed from the server's router: `api.hosting.projects.list.query()`. */
  api: TRPCClient<AppRouter>;
  deployments: {
    /** Status updates, from the first one or after `lastEventId`, until the loop is left. Reconnects by itself. */
    stream(id: string, options?: { lastEventId?: string; signal?: AbortSignal }): AsyncGenerator<DeploymentUpdate>;
    /** Captured lines since a time (default `10m`), then new ones until the loop is left. */
    logs(
      id: string,
      options?: { since?: string; component?: string; follow?: boolean; signal?: AbortSignal },
    ): AsyncGenerator<LogEntry & { id: string }>;
  };
  /** Ends open streams and the WebSocket. */
  close(): void;
}

/** A client of one Quayside. Errors are `QuaysideError` and its classes. */
export function createQuayside(options: QuaysideOptions): Quayside {
  const baseUrl = options.baseUrl.replace(/\/+$/, "");
  const url = `${baseUrl}/trpc`;
  const readToken = () => (typeof options.token === "function" ? options.token() : options.token);
  const headers = () => {
    const token = readToken();
    return token === undefined ? {} : { authorization: `Bearer ${token}` };
  };
  const send = options.fetch ?? fetch;
  let socket: TRPCWebSocketClient | null = null;
  const closing = new AbortController();
  const endOf = (signal: AbortSignal | undefined) =>
    signal ? AbortSignal.any([signal, closing.signal]) : closing.signal;
  const streaming: TRPCLink<AppRouter> =
    options.streams === "sse"
      ? httpSubscriptionLink({
          url,
          // The EventSource of browsers sends no headers; this one goes through fetch.
          EventSource,
          eventSourceOptions: () => ({
            fetch: (input, init) => send(input, { ...init, headers: { ...init.headers, ...headers() } }),
          }),
        })
      : (runtime) => {
          socket = createWSClient({
            url: url.replace(/^http/, "ws"),
            lazy: { enabled: true, closeMs: 5_000 },
            connectionParams: () => {
              const token = readToken();
              return token === undefined ? null : { token };
            },
          });
          return wsLink<AppRouter>({ client: socket })(runtime);
        };
  const api = createTRPCClient<AppRouter>({
    links: [
      errorClasses,
      splitLink({
        condition: (operation) => operation.type === "subscription",
        true: streaming,
        false: httpBatchLink({ url, headers, maxItems: MAX_BATCH_SIZE, fetch: send as BatchFetch }),
      }),
    ],
  });
  return {
    api,
    deployments: {
      async *stream(id, { lastEventId, signal } = {}) {
        const input = { id, ...(lastEventId === undefined ? {} : { lastEventId }) };
        const items = follow<{ id: string; data: Omit<DeploymentUpdate, "id"> }>(
          (callbacks) => api.hosting.deployments.stream.subscribe(input, callbacks),
          endOf(signal),
        );
        for await (const item of items) yield { id: item.id, ...item.data };
      },
      async *logs(id, { since, component, follow: live = true, signal } = {}) {
        const input = {
          id,
          follow: live ? ("1" as const) : ("0" as const),
          ...(since === undefined ? {} : { since }),
          ...(component === undefined ? {} : { component }),
        };
        const items = follow<{ id: string; data: LogEntry }>(
          (callbacks) => api.hosting.deployments.logs.subscribe(input, callbacks),
          endOf(signal),
        );
        for await (const item of items) yield { ...item.data, id: item.id };
      },
    },
    close() {
      closing.abort();
      socket?.close();
    },
  };
}

/** Turns every failure into the class that fits. */
const errorClasses: TRPCLink<AppRouter> = () => {
  return ({ next, op }) =>
    observable((observer) => {
      const subscription = next(op).subscribe({
        next: (value) => observer.next(value),
        error: (error) => observer.error(toQuaysideError(error)),
        complete: () => observer.complete(),
      });
      return () => subscription.unsubscribe();
    });
};
