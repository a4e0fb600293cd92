import { z } from "zod";
import { dateTime, domainName, uuid, visibleName } from "../platform/text.ts";
import { attributes } from "./attributes.ts";
import { cursor, pageLimit, pageOf, searchText } from "./pages.ts";

export const companyRecord = z.object({
  id: z.guid(),
  name: z.string(),
  domain: z.string().nullable(),
  attributes: z.record(z.string(), z.unknown()),
  peopleCount: z.int().describe("People who are linked to it."),
  createdAt: dateTime,
  updatedAt: dateTime,
});
export type CompanyRecord = z.infer<typeof companyRecord>;

export const listCompaniesInput = z.strictObject({
  limit: pageLimit(50),
  cursor: cursor.optional(),
  q: searchText.optional().describe("Part of a name or domain; case does not matter."),
});
export type ListCompaniesInput = z.output<typeof listCompaniesInput>;
export const listCompaniesOutput = pageOf(companyRecord);
export const companyIdInput = z.strictObject({ id: uuid });

const name = visibleName(500);

export const createCompanyInput = z.strictObject({
  name,
  domain: domainName.optional(),
  attributes: attributes.optional(),
});
export type CreateCompanyInput = z.output<typeof createCompanyInput>;

export const updateCompanyInput = z.strictObject({
  id: uuid,
  name: name.optional(),
  domain: domainName.nullable().optional(),
  attributes: attributes.optional().describe("Merged key by key; null removes a key."),
});
export type UpdateCompanyInput = z.output<typeof updateCompanyInput>;
