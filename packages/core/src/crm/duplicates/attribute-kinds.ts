/** What an attribute says about a person, as far as its key tells. */
export type AttributeKind =
  | "email"
  | "birthDate"
  | "age"
  | "phone"
  | "mobile"
  | "identifier"
  | "street"
  | "houseNumber"
  | "locality"
  | "postcode"
  | "region"
  | "country"
  | "company"
  | "domain"
  | "gender"
  | "other";

/** The first line with one of the key's words decides, so what is more particular stands further up. */
const KINDS: readonly (readonly [AttributeKind, readonly string[]])[] = [
  ["birthDate", ["dob", "birth", "birthday", "birthdate", "dateofbirth", "born"]],
  ["age", ["age"]],
  ["email", ["email", "mail", "emailaddress"]],
  ["mobile", ["mobile", "mobilephone", "cell", "cellphone", "whatsapp", "handy"]],
  ["phone", ["phone", "phonenumber", "tel", "telephone", "landline"]],
  [
    "identifier",
    ["ssn", "socsec", "socialsecurity", "passport", "nationalid", "taxid", "nino", "linkedin", "github", "twitter"],
  ],
  ["postcode", ["postcode", "zip", "zipcode", "plz", "postalcode"]],
  ["houseNumber", ["housenumber", "streetnumber", "streetno", "unitnumber", "houseno"]],
  ["street", ["street", "address", "address1", "address2", "address3", "addr", "streetaddress", "road"]],
  ["locality", ["suburb", "city", "town", "locality", "village", "municipality", "district"]],
  ["region", ["state", "region", "province", "county"]],
  ["country", ["country", "nation", "countrycode"]],
  ["company", ["company", "companyname", "employer", "organization", "organisation", "firm", "workplace"]],
  ["domain", ["domain", "website"]],
  ["gender", ["gender", "sex"]],
];

const KIND_OF_WORD: ReadonlyMap<string, AttributeKind> = new Map(
  KINDS.flatMap(([kind, words]) => words.map((word): [string, AttributeKind] => [word, kind])),
);
const RANK: ReadonlyMap<AttributeKind, number> = new Map(
  KINDS.map(([kind], index): [AttributeKind, number] => [kind, index]),
);
/** Words that make an attribute speak of something else: `email_verified` is no address. */
const OTHERWISE = new Set([
  "type",
  "verified",
  "status",
  "source",
  "opt",
  "consent",
  "count",
  "preference",
  "created",
  "updated",
  "ip",
]);

/** `date_of_birth`, `dateOfBirth` and `Date of birth` are all a birth date. */
export function kindOfAttribute(key: string): AttributeKind {
  const words = wordsOfKey(key);
  if (words.some((word) => OTHERWISE.has(word))) return "other";
  const pairs = words.slice(1).map((word, index) => `${words[index]}${word}`);
  let best: AttributeKind = "other";
  let bestRank = KINDS.length;
  for (const word of [...words, ...pairs, words.join("")]) {
    const kind = KIND_OF_WORD.get(word);
    const rank = kind === undefined ? KINDS.length : (RANK.get(kind) ?? KINDS.length);
    if (kind !== undefined && rank < bestRank) [best, bestRank] = [kind, rank];
  }
  return best;
}

function wordsOfKey(key: string): string[] {
  return (
    key
      .slice(0, 100)
      .replace(/([a-z])([A-Z])/g, "$1 $2")
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? []
  );
}
