import { expect, onTestFinished, test } from "vitest";
import { openApp } from "../support/apps.ts";
import { createDeployer } from "../support/deploying.ts";
import { createRepository, webApp } from "../support/git-repository.ts";
import { startTestQuayside } from "../support/quayside.ts";
import { until } from "../support/until.ts";
import { createEndpoint, WEBHOOKS } from "../support/webhooks.ts";

test("an app that crashes is told to webhooks, and again when it has recovered; a deployment is no crash", async () => {
  const quayside = await startTestQuayside();
  onTestFinished(() => quayside.stop());
  const token = quayside.adminToken;
  const repo = createRepository();
  onTestFinished(() => repo.remove());
  const events = ["alert.triggered", "alert.resolved"];
  const { id } = await createEndpoint(quayside, token, { url: "http://127.0.0.1:9/nobody-listens", events });
  const told = async (): Promise<string[]> => {
    const { body } = await quayside.call("GET", `${WEBHOOKS}/${id}`, { token });
    return body.deliveries.map((delivery: { type: string }) => delivery.type).reverse();
  };
  const app = await createDeployer(quayside, token, repo);
  await app.deploy(repo.commit(webApp("one")));
  await app.deploy(repo.commit(webApp("two")));
  expect(await told()).toEqual([]);
  await openApp(quayside.appsPort, `${app.slug}.localhost`, "/crash").catch(() => {});
  await until("the crash is told", async () => (await told()).length === 1);
  await until("the recovery is told", async () => (await told()).length === 2, 30_000);
  expect(await told()).toEqual(events);
});
