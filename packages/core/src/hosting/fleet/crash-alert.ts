import type { WebhookEventData } from "@quayside/contracts";
import { type ReleaseRow, withTransaction } from "@quayside/db";
import type { Context } from "../../platform/context.ts";
import { publishEvents } from "../../webhooks/index.ts";

export interface CrashAlertTimes {
  /** A first crash is over when the app has been healthy for this long. */
  recoveredMs: number;
  /** A crash loop is over when it has been for this long. */
  steadyMs: number;
}

type Release = Pick<ReleaseRow, "id" | "organizationId" | "appId" | "component">;

/** An alert that was left open by a process that stopped is looked for this far back. */
const LOOK_BACK = "1 day";

/**
 * Tells webhooks when a live release ends by itself: `alert.triggered` once, however often it ends again, and
 * `alert.resolved` when it has stayed healthy or is live no more. It never throws: an app is kept running all the same.
 */
export class CrashAlert {
  readonly #ctx: Context;
  readonly #release: Release;
  readonly #times: CrashAlertTimes;
  #open = false;
  #crashes = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(ctx: Context, release: Release, times: CrashAlertTimes) {
    this.#ctx = ctx;
    this.#release = release;
    this.#times = times;
  }

  /** Takes up the alert that an earlier process of Quayside triggered and did not live to resolve. */
  async takeUp(): Promise<void> {
    const { organizationId, appId, component } = this.#release;
    await this.#safely(async () => {
      const [last] = await this.#ctx.db.sql<{ type: string }[]>`
        SELECT type FROM webhook_events
        WHERE organization_id = ${organizationId} AND type IN ('alert.triggered', 'alert.resolved')
          AND occurred_at > ${this.#ctx.clock.now().toISOString()}::timestamptz - ${LOOK_BACK}::interval
          AND data->>'alert' = 'app_crashed' AND data->>'appId' = ${appId} AND data->>'component' = ${component}
        ORDER BY occurred_at DESC, id DESC LIMIT 1`;
      this.#open = last?.type === "alert.triggered";
    });
  }

  /** The app ended by itself, or could not be started again, after `ranMs` milliseconds. */
  async crashed(ranMs: number, message: string): Promise<void> {
    this.#stopTimer();
    this.#crashes = ranMs > this.#times.steadyMs ? 1 : this.#crashes + 1;
    if (this.#open) return;
    this.#open = true;
    await this.#publish("alert.triggered", message);
  }

  healthy(): void {
    if (!this.#open) return;
    const { recoveredMs, steadyMs } = this.#times;
    this.#stopTimer();
    this.#timer = setTimeout(
      () => void this.#resolve("The app runs again."),
      this.#crashes > 1 ? steadyMs : recoveredMs,
    );
    this.#timer.unref();
  }

  /** `live`: only this process ends; the release and its alert go on. */
  async end(live: boolean): Promise<void> {
    this.#stopTimer();
    if (!live) await this.#resolve("The release that crashed is no longer live.");
  }

  async #resolve(message: string): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await this.#publish("alert.resolved", message);
  }

  #stopTimer(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  async #publish(type: "alert.triggered" | "alert.resolved", message: string): Promise<void> {
    const { organizationId, appId, component } = this.#release;
    await this.#safely(() =>
      withTransaction(this.#ctx.db, async (tx) => {
        const [app] = await tx.sql<{ slug: string }[]>`SELECT slug FROM apps WHERE id = ${appId}`;
        if (!app) return;
        const data: WebhookEventData<typeof type> = {
          alert: "app_crashed",
          appId,
          appSlug: app.slug,
          component,
          message,
        };
        await publishEvents(tx, this.#ctx, { organizationId, area: "organization" }, [{ type, data }]);
      }),
    );
  }

  async #safely(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#ctx.log.warn({ err: error, releaseId: this.#release.id }, "an alert could not be told");
    }
  }
}
