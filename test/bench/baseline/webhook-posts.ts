// The bare sender beside the delivery of webhooks: undici posts requests that are signed already, so many at once.
import { Agent } from "undici";
import type { SignedPost } from "../support/webhook-receiver.ts";

export interface BareSend {
  url: string;
  posts: SignedPost[];
  count: number;
  atOnce: number;
}

process.on("disconnect", () => process.exit(0));
process.on("message", async ({ url, posts, count, atOnce }: BareSend) => {
  const { origin, pathname: path } = new URL(url);
  const agent = new Agent({ connections: atOnce, pipelining: 1 });
  let next = 0;
  const send = async () => {
    while (next < count) {
      const { headers, body } = posts[next++ % posts.length] as SignedPost;
      const answer = await agent.request({ origin, path, method: "POST", headers, body });
      await answer.body.dump();
      if (answer.statusCode >= 300) throw new Error(`The receiver answered ${answer.statusCode}.`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, send));
  await agent.close();
  process.send?.("done");
});
process.send?.("ready");
