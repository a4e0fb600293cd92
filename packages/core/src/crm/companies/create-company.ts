import type { CompanyRecord, CreateCompanyInput } from "@quayside/contracts";
import { companies, withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { publishEvents } from "../../webhooks/index.ts";
import { mergeAttributes } from "../merge-attributes.ts";
import { explainTakenDomain, requireDomain } from "./company-domain.ts";
import { toCompanyRecord } from "./company-record.ts";
import { linkPeople } from "./link-people.ts";

/**
 * A company of the caller's organization; people of its domain without a company are linked to it, and the webhook event `company.created` tells of it. The domain is stored in
 * lower case and ASCII. Errors: `conflict` for a domain in use, `validation_failed` for one that is none.
 */
export async function createCompany(ctx: Context, input: CreateCompanyInput): Promise<CompanyRecord> {
  const { organization } = requireCaller(ctx, "write");
  const now = ctx.clock.now();
  const company = {
    id: ctx.ids.uuid(),
    name: input.name,
    domain: input.domain === undefined ? null : requireDomain(input.domain),
    attributes: mergeAttributes({}, input.attributes ?? {}),
  };
  try {
    return await withTransaction(ctx.db, async (tx) => {
      await tx.orm
        .insert(companies)
        .values({ ...company, organizationId: organization.id, createdAt: now, updatedAt: now });
      await recordAudit(tx, ctx, { action: "company.created", target: `company:${company.id}` });
      const people = await linkPeople(tx, ctx, { ...company, organizationId: organization.id });
      const record = toCompanyRecord({ ...company, createdAt: now.getTime(), updatedAt: now.getTime() }, people);
      const source = { organizationId: organization.id, area: "crm" } as const;
      await publishEvents(tx, ctx, source, [{ type: "company.created", data: { company: record } }]);
      return record;
    });
  } catch (error) {
    throw explainTakenDomain(error, company.domain);
  }
}
