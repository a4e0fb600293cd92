import type { RequestContext } from "@quayside/api";
import type { z } from "zod";
import { explainIssue } from "./explain-input.ts";

/** What a procedure consists of; the parts that tRPC keeps behind `_def`. */
interface ProcedureParts {
  type: "query" | "mutation" | "subscription";
  inputs: readonly z.ZodType[];
  output?: z.ZodType;
  middlewares: readonly unknown[];
  resolver(options: object): unknown;
}

export type Invoke = (ctx: RequestContext, input: unknown, signal?: AbortSignal) => Promise<unknown>;

/**
 * Calls a procedure without tRPC's middleware runner, which copies the context and its options at every step and costs
 * more than the work itself. The door's one middleware, the guard, is `admit`, which the dispatcher has called; what is
 * left is to read the input, resolve, and check the output. A procedure with a middleware of its own is refused at
 * start, because it would be skipped here. `fromQuery`: the input comes as text, not as JSON.
 */
export function createInvoke(path: string, procedure: { _def: object }, fromQuery: boolean): Invoke {
  const { type, inputs, output, middlewares, resolver } = procedure._def as ProcedureParts;
  const [input] = inputs;
  const expected = 1 + inputs.length + (output ? 1 : 0) + 1;
  if (typeof resolver !== "function" || inputs.length > 1 || middlewares.length !== expected) {
    throw new Error(`Procedure ${path} has a middleware that the REST door would skip.`);
  }
  const wording = { error: (issue: z.core.$ZodRawIssue) => explainIssue(issue, fromQuery) };
  return async (ctx, raw, signal) => {
    const value = input ? input.parse(raw, wording) : undefined;
    const result = await resolver({ ctx, input: value, path, type, signal, batchIndex: 0 });
    if (!output) return result;
    const checked = output.safeParse(result);
    // The fault is ours, not the caller's.
    if (!checked.success)
      throw new Error(`Procedure ${path} answered what its output schema refuses.`, { cause: checked.error });
    return checked.data;
  };
}
