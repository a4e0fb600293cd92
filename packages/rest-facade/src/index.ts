export { createRestFacade, type RestFacadeOptions } from "./app.ts";
export { buildRouteTable } from "./dispatch/route-table.ts";
