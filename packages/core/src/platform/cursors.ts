import { createHash } from "node:crypto";
import { PlatformError } from "@quayside/contracts";
import type { Context } from "./context.ts";
import type { Sealer } from "./sealer.ts";

/** What a cursor belongs to: it opens for the same organization, list, order and filter only. */
interface CursorBinding {
  organizationId: string;
  list: string;
  /** Order and filter, in any form that JSON can say. */
  query: unknown;
}

/** Opaque text that says where the next page begins: the position sealed with what it is bound to. */
export function sealCursor(ctx: Pick<Context, "sealer">, binding: CursorBinding, position: readonly string[]): string {
  return ctx.sealer.seal(purposeOf(binding), JSON.stringify(position)).toString("base64url");
}

/** Throws `invalid_cursor` (422) for a cursor that was changed, is another organization's or another query's. */
export function openCursor(ctx: Pick<Context, "sealer">, binding: CursorBinding, cursor: string): string[] {
  const position = tryOpen(ctx.sealer, purposeOf(binding), cursor);
  if (position) return position;
  const message = "The cursor does not belong to this list with this sort and filter; begin again without a cursor.";
  throw new PlatformError("invalid_cursor", message, {
    issues: [{ field: "cursor", code: "invalid_cursor", message }],
  });
}

function tryOpen(sealer: Sealer, purpose: string, cursor: string): string[] | null {
  if (!/^[A-Za-z0-9_-]+$/.test(cursor)) return null;
  try {
    return JSON.parse(sealer.open(purpose, Buffer.from(cursor, "base64url")).toString()) as string[];
  } catch {
    return null;
  }
}

function purposeOf({ organizationId, list, query }: CursorBinding): string {
  const hash = createHash("sha256").update(JSON.stringify(query)).digest("base64");
  return `cursor:${organizationId}:${list}:${hash}`;
}
