/**
 * How often two records agree to a degree when they are of one person (m), and when they are not (u). The weight is
 * log2(m / u) bits: positive speaks for one person, negative against.
 */
export interface Rate {
  readonly m: number;
  readonly u: number;
}

const rate = (m: number, u: number): Rate => ({ m, u });

export interface TextRates {
  readonly same: Rate;
  readonly close: Rate;
  readonly similar: Rate;
  readonly far: Rate;
}

/** Of a thousand pairs worth comparing, which share a name, a number or a street already, about one is a duplicate. */
export const PRIOR_BITS = -10;

/**
 * Where the figures come from. m: typed data has an error in roughly one field of ten, half of which are a single edit.
 * u: how many values a field has in a population and how evenly people spread over them, rounded; stated per line.
 */
export const RATES = {
  // The commonest surname has about 1 % of the people, and two strangers share one in about 300 cases.
  surname: {
    same: rate(0.85, 1 / 300),
    close: rate(0.06, 1 / 200),
    similar: rate(0.03, 1 / 100),
    far: rate(0.004, 0.98),
  },
  // Fewer given names are in use than surnames, and fashion bundles them.
  givenName: {
    same: rate(0.82, 1 / 100),
    close: rate(0.06, 1 / 150),
    similar: rate(0.03, 1 / 100),
    far: rate(0.015, 0.96),
  },
  middleName: { same: rate(0.7, 1 / 15), close: rate(0.05, 1 / 40), similar: rate(0.02, 1 / 60), far: rate(0.2, 0.9) },
  nickname: rate(0.04, 1 / 400),
  initial: rate(0.05, 1 / 100),
  // One surname and two given names: members of a family, mostly.
  relatives: rate(0.01, 0.08),
  // 22,000 days in sixty years of birth, less the habits of those who make up a date. A date has about 60 neighbours at
  // one digit's distance, few of which are taken.
  birthDate: {
    same: rate(0.85, 1 / 12_000),
    close: rate(0.07, 1 / 300),
    similar: rate(0.02, 1 / 40),
    far: rate(0.015, 0.97),
  },
  age: { same: rate(0.7, 1 / 50), close: rate(0.15, 1 / 25), similar: rate(0.1, 0.15), far: rate(0.05, 0.8) },
  // Personal addresses are unique but for the rare family that shares one.
  email: {
    same: rate(0.8, 1 / 80_000),
    close: rate(0.05, 1 / 3_000),
    similar: rate(0.05, 1 / 80),
    far: rate(0.3, 0.99),
  },
  // Two mailboxes at one company are rarely one person's.
  emailColleague: { far: rate(0.06, 0.95) },
  // A role's mailbox names a company, and hardly a person.
  emailRole: { same: rate(0.5, 1 / 60), far: rate(0.7, 0.98) },
  mobile: {
    same: rate(0.8, 1 / 8_000),
    close: rate(0.06, 1 / 1_000),
    similar: rate(0.01, 1 / 100),
    far: rate(0.2, 0.99),
  },
  phone: {
    same: rate(0.8, 1 / 1_000),
    close: rate(0.06, 1 / 400),
    similar: rate(0.01, 1 / 100),
    far: rate(0.25, 0.99),
  },
  identifier: {
    same: rate(0.9, 1 / 20_000),
    close: rate(0.06, 1 / 2_000),
    similar: rate(0.01, 1 / 50),
    far: rate(0.03, 0.99),
  },
  street: {
    same: rate(0.75, 1 / 1_000),
    close: rate(0.1, 1 / 500),
    similar: rate(0.08, 1 / 60),
    far: rate(0.12, 0.97),
  },
  // The text of one line in another line of the other address.
  elsewhere: rate(0.04, 1 / 2_000),
  houseNumber: { same: rate(0.8, 1 / 40), close: rate(0.06, 1 / 12), similar: rate(0.04, 1 / 20), far: rate(0.2, 0.9) },
  locality: { same: rate(0.75, 1 / 80), close: rate(0.1, 1 / 120), similar: rate(0.05, 1 / 50), far: rate(0.2, 0.95) },
  postcode: { same: rate(0.8, 1 / 300), close: rate(0.08, 1 / 60), similar: rate(0.02, 1 / 20), far: rate(0.2, 0.97) },
  region: { same: rate(0.85, 1 / 4), close: rate(0.05, 1 / 20), similar: rate(0.02, 1 / 20), far: rate(0.15, 0.75) },
  country: { same: rate(0.97, 1 / 1.4), close: rate(0.01, 1 / 50), similar: rate(0.01, 1 / 50), far: rate(0.03, 0.3) },
  // Candidates are sought among colleagues too, so that a shared company is common among those who are compared.
  company: { same: rate(0.7, 1 / 25), close: rate(0.08, 1 / 50), similar: rate(0.06, 1 / 40), far: rate(0.3, 0.95) },
  domain: { same: rate(0.7, 1 / 20), close: rate(0.02, 1 / 50), similar: rate(0.02, 1 / 50), far: rate(0.35, 0.95) },
  gender: { same: rate(0.97, 1 / 2), close: rate(0.01, 1 / 50), similar: rate(0.01, 1 / 50), far: rate(0.06, 0.5) },
  // Of an unknown attribute all that is known is that duplicates agree on it more often.
  other: { same: rate(0.7, 1 / 4), close: rate(0.08, 1 / 15), similar: rate(0.06, 1 / 12), far: rate(0.3, 0.6) },
} as const;

/**
 * Bounds of what correlated fields say together, in bits. Everything that a household or a company shares (context) is
 * bounded below what the prior takes: the same address alone leaves the question which of its people it is.
 */
export const BOUNDS = {
  name: [-10, 17],
  email: [-5, 17],
  birth: [-7, 14],
  address: [-6, 9.5],
  company: [-2, 5],
  phone: [-2.5, 10],
  mobile: [-2.5, 13],
  identifier: [-6, 15],
  other: [-2.5, 4],
  context: [-7, 9.5],
  sharedByTwoNames: 11,
} as const;

export const NAME_BITS = {
  // Both parts agree but for where the space is.
  writtenDifferently: 10,
  reordered: -1,
} as const;

/** A share may make a value at most eight times rarer than usual, so that chance in small data does not decide. */
const RARER = 8;
const MOST_COMMON = 0.5;

/** The weight in bits; with the value's share in place of the usual u where it is known. */
export function bitsOf({ m, u }: Rate, share?: number): number {
  if (share === undefined || !(share > 0)) return Math.log2(m / u);
  return Math.log2(m / Math.min(Math.max(share, u / RARER), Math.max(u, MOST_COMMON)));
}
