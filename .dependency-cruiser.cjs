const pkg = (name) => `^packages/${name}/`;
const only = (name, allowed) => ({
  name: `${name}-imports-only-${allowed.join("-") || "nothing"}`,
  severity: "error",
  from: { path: pkg(name), pathNot: "\\.test\\.ts$|/testing/" },
  to: { path: "^packages/", pathNot: [name, ...allowed].map(pkg) },
});

/** The house: who may import whom. `docs/architecture.md` explains it. */
module.exports = {
  forbidden: [
    {
      name: "no-cycles",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    only("contracts", []),
    only("db", ["contracts"]),
    only("core", ["contracts", "db"]),
    only("runtime", ["contracts"]),
    only("api", ["contracts", "core"]),
    only("rest-facade", ["contracts", "core", "api"]),
    only("workers", ["contracts", "core"]),
    only("sdk", ["contracts", "api"]),
    {
      name: "sdk-takes-types-only",
      comment: "Nothing of the server may be in what the SDK ships.",
      severity: "error",
      from: { path: pkg("sdk") },
      to: { path: pkg("api"), dependencyTypesNot: ["type-only"] },
    },
    {
      name: "core-knows-no-transport",
      severity: "error",
      from: { path: pkg("core") },
      to: { path: "node_modules/(express|@trpc|graphile-worker|ws)/" },
    },
    {
      name: "only-core-and-db-import-drizzle",
      severity: "error",
      from: { path: "^packages/", pathNot: "^packages/(core|db)/" },
      to: { path: "node_modules/drizzle-orm/" },
    },
    {
      name: "contracts-import-zod-only",
      severity: "error",
      from: { path: pkg("contracts"), pathNot: "\\.test\\.ts$" },
      to: { path: "node_modules/", pathNot: "node_modules/zod/" },
    },
    {
      name: "areas-meet-through-their-index",
      severity: "error",
      from: { path: "^packages/(core|api)/src/(identity|crm|registry|hosting|webhooks)/" },
      to: {
        path: "^packages/$1/src/(identity|crm|registry|hosting|webhooks)/",
        pathNot: ["^packages/$1/src/$2/", "/index\\.ts$"],
      },
    },
    {
      name: "no-dumping-grounds",
      severity: "error",
      from: {},
      to: { path: "^packages/.*/(utils|helpers|common|misc)(/|\\.ts$)" },
    },
    { name: "nothing-unresolvable", severity: "error", from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    parser: "swc",
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "default"],
      extensions: [".ts", ".js", ".mjs", ".json"],
    },
  },
};
