import { writeFileSync } from "node:fs";
import { readFileSync, readdirSync } from "node:fs";
import { Bench } from "./support/bench.ts";
import { withWebhooks } from "./support/webhooks.ts";
const bench = new Bench();
const N = Number(process.argv[2] ?? 8000), R = Number(process.argv[3] ?? 4);
const cpu = () => {
  const m = new Map<number, {cmd: string; ticks: number}>();
  for (const d of readdirSync("/proc")) if (/^\d+$/.test(d)) try {
    const s = readFileSync(`/proc/${d}/stat`, "utf8"); const f = s.slice(s.lastIndexOf(")")+2).split(" ");
    m.set(+d, {cmd: readFileSync(`/proc/${d}/cmdline`,"utf8").replaceAll("\0"," ").slice(0,110), ticks: +f[11]! + +f[12]!});
  } catch {}
  return m;
};
try {
  await withWebhooks(bench, async (w) => {
    const id = await w.subscribe();
    const pid = w.installation.pid; process.kill(pid, "SIGUSR1"); await new Promise(r => setTimeout(r, 500));
    const list = await (await fetch("http://127.0.0.1:9229/json")).json() as any;
    const ws = new WebSocket(list[0].webSocketDebuggerUrl); await new Promise(r => ws.onopen = r);
    let mid = 0; const cmd = (method: string, params = {}) => new Promise<any>(res => { const my = ++mid; const h = (e: any) => { const m = JSON.parse(e.data); if (m.id === my) { ws.removeEventListener("message", h); res(m.result); } }; ws.addEventListener("message", h); ws.send(JSON.stringify({id: my, method, params})); });
    await cmd("Profiler.enable"); await cmd("Profiler.setSamplingInterval", {interval: 200});
    const idle = () => { const f = readFileSync("/proc/stat","utf8").split("\n")[0]!.split(/\s+/).slice(1).map(Number); return {idle: f[3]!+f[4]!, all: f.reduce((a,b)=>a+b,0)}; };
    for (let r = 0; r < R; r++) {
      await w.fill(id, N);
      await w.receiver.begin();
      const before = cpu();
      if (r === R-1) await cmd("Profiler.start");
      const i0 = idle();
      await w.wake(id);
      const { firstAt, lastAt } = await w.receiver.untilAccepted(N);
      const after = cpu(); const i1 = idle(); console.log("idle share", ((i1.idle-i0.idle)/(i1.all-i0.all)).toFixed(2));
      if (r === R-1) { const { profile } = await cmd("Profiler.stop"); writeFileSync("/tmp/wd/prof/server.cpuprofile", JSON.stringify(profile)); }
      const s = (lastAt-firstAt)/1000;
      console.log(`round ${r}: ${(N/s).toFixed(0)}/s, ${s.toFixed(2)} s`);
      for (const [pid, {cmd, ticks}] of after) { const d = ticks - (before.get(pid)?.ticks ?? ticks); if (d > s*100*0.03) console.log(`   ${(d*10/s/10).toFixed(0)}% ${(d*10000/N).toFixed(0)}us/d ${pid} ${cmd}`); }
      const [q] = await w.sql`select count(*) filter (where status='pending')::int p, count(*) from webhook_deliveries`; console.log("  ", q);
      for (;;) { const [q] = await w.sql`select count(*)::int n from webhook_deliveries where status = 'pending'`; if (q!.n === 0) break; await new Promise(r => setTimeout(r, 50)); }
    }
    ws.close();
    const st = await w.sql`select relname, n_tup_upd, n_tup_hot_upd, n_dead_tup from pg_stat_user_tables where relname like 'webhook%'`;
    console.log(st);
  });
} finally { await bench.close(); }
