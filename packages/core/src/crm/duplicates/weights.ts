/**
 * How often two records agree to a degree when they are of one person (m), and when they are not (u). The weight is
 * log2(m / u) bits: positive speaks for one person, negative against.
 */
export interface Rate {
  readonly m: number;
  readonly u: number;
}

type Pair = readonly [m: number, u: number];

const rate = (m: number, u: number): Rate => ({ m, u });
/** The rates of being the same, one edit apart (close), a few edits apart (similar), and of having little in common. */
const levels = (same: Pair, close: Pair, similar: Pair, far: Pair) => ({
  same: rate(...same),
  close: rate(...close),
  similar: rate(...similar),
  far: rate(...far),
});

/** Of a thousand pairs worth comparing, which share a name, a number or a street already, about one is a duplicate. */
export const PRIOR_BITS = -10;

/**
 * Where the figures come from, all of them rounded:
 *
 * m: in typed data about one field of six differs, nearly half of those by a single edit. A name or a birth date stays
 * a person's own, so that differing throughout is rare; people move, change employers and have several numbers, so
 * there it is common.
 *
 * u of same: the number of values in use and how evenly people spread over them; the comment of a line says what is
 * known. u of close and similar: counted over pairs of different values in lists of names, streets and places.
 */
export const RATES = {
  // The commonest surnames have about 1 % of the people each; two strangers share one in 250 to 1,000 cases.
  surname: levels([0.85, 1 / 300], [0.07, 1 / 2_000], [0.02, 1 / 400], [0.004, 0.99]),
  // Fewer given names are in use than surnames, and a generation bundles them.
  givenName: levels([0.82, 1 / 150], [0.07, 1 / 800], [0.02, 1 / 200], [0.015, 0.98]),
  // Every parent's favourites, and often left out or an initial: little either way.
  middleName: levels([0.7, 1 / 15], [0.05, 1 / 80], [0.02, 1 / 40], [0.2, 0.9]),
  // One in twenty-five goes by a nickname; it points at few names, of which each is one in 150.
  nickname: rate(0.04, 1 / 400),
  // A record has an initial as rarely as a nickname, and one name in ten fits it; families like to repeat theirs.
  initial: rate(0.05, 1 / 60),
  // 22,000 days in sixty years of birth, less some for dates that were made up.
  birthDate: levels([0.85, 1 / 12_000], [0.07, 1 / 600], [0.03, 1 / 70], [0.03, 0.98]),
  // Ages were written down in different years.
  age: levels([0.7, 1 / 50], [0.15, 1 / 25], [0.1, 0.15], [0.05, 0.8]),
  // Personal addresses are unique, but for the few that a family shares. Similar is the same part before the @ at
  // another domain, which mostly repeats what the name says already.
  email: levels([0.8, 1 / 80_000], [0.05, 1 / 3_000], [0.08, 1 / 20], [0.22, 0.99]),
  // Two personal mailboxes at one company are rarely one person's.
  emailColleague: rate(0.06, 0.95),
  // A role's mailbox names a company and hardly a person.
  emailRole: levels([0.5, 1 / 60], [0.1, 0.1], [0.1, 0.1], [0.7, 0.98]),
  // One number a person, which some of a family share.
  mobile: levels([0.8, 1 / 8_000], [0.06, 1 / 1_000], [0.01, 1 / 100], [0.13, 0.99]),
  // Often a switchboard's or a home's.
  phone: levels([0.8, 1 / 1_000], [0.06, 1 / 400], [0.01, 1 / 100], [0.2, 0.99]),
  // Issued once to each person; exact but for slips.
  identifier: levels([0.9, 1 / 20_000], [0.06, 1 / 2_000], [0.01, 1 / 50], [0.03, 0.99]),
  // One of thousands of streets, and people are gathered in some of them.
  street: levels([0.75, 1 / 1_000], [0.1, 1 / 5_000], [0.05, 1 / 200], [0.12, 0.99]),
  // The text of one line in another line of the other address.
  elsewhere: rate(0.04, 1 / 2_000),
  // Low numbers are common. Close and similar are one figure too many, too few or wrong.
  houseNumber: levels([0.8, 1 / 40], [0.04, 1 / 90], [0.04, 1 / 14], [0.15, 0.9]),
  // An organization's people are of a few cities, so a city says less than its name's rarity.
  locality: levels([0.75, 1 / 80], [0.1, 1 / 2_000], [0.03, 1 / 400], [0.2, 0.98]),
  // Likewise; postcodes are dense, so that one digit off is often a neighbour.
  postcode: levels([0.8, 1 / 300], [0.08, 1 / 80], [0.02, 1 / 80], [0.15, 0.97]),
  // A handful of states, half of the people in one or two.
  region: levels([0.85, 1 / 4], [0.05, 1 / 20], [0.02, 1 / 20], [0.1, 0.75]),
  country: levels([0.97, 1 / 1.4], [0.01, 1 / 50], [0.01, 1 / 50], [0.03, 0.3]),
  // Candidates are sought among colleagues too, so that a shared company is common among those who are compared.
  company: levels([0.7, 1 / 25], [0.08, 1 / 50], [0.06, 1 / 40], [0.2, 0.95]),
  domain: levels([0.7, 1 / 20], [0.02, 1 / 50], [0.02, 1 / 50], [0.25, 0.95]),
  gender: levels([0.97, 1 / 2], [0.01, 1 / 50], [0.01, 1 / 50], [0.06, 0.5]),
  // Of an unknown attribute all that is known is that duplicates agree on it more often.
  other: levels([0.7, 1 / 4], [0.08, 1 / 15], [0.06, 1 / 12], [0.3, 0.6]),
} as const;

/**
 * The least and the most, in bits, that fields which depend on one another say together. What a household or a company
 * shares (context) stays below what the prior takes: one address, however often it is repeated in other fields, leaves
 * open which of its people it is. A name alone, however rare, leaves open whether there are two of that name.
 */
export const BOUNDS = {
  name: [-10, 14],
  email: [-5, 17],
  birth: [-7, 14],
  address: [-6, 9.5],
  company: [-2.5, 5],
  phone: [-2.5, 10],
  mobile: [-3, 13],
  identifier: [-6, 15],
  other: [-2.5, 4],
  context: [-7, 9.5],
} as const;

export const MOST_BITS = {
  /** Context and the surname: what all the people of a household share. A given name that differs outweighs it. */
  household: 13,
  /** A household, an email address and a mobile number, when the given names are two people's: some families share all. */
  householdAndReach: 13,
} as const;

/** For names whose parts cannot be told apart. */
export const NAME_BITS = {
  // Both parts agree but for where the space is.
  writtenDifferently: 10,
  writtenDifferentlyFamily: 5,
  // Given name and surname in each other's place: one record in thirty, but chance doubles.
  reordered: -1,
} as const;

/** A share makes a value at most eight times rarer than usual, so that chance in small data does not decide. */
const RARER = 8;
const MOST_COMMON = 0.5;

/** The weight in bits; with the value's share in place of the usual u where it is known. */
export function bitsOf({ m, u }: Rate, share?: number): number {
  if (share === undefined || !(share > 0)) return Math.log2(m / u);
  return Math.log2(m / Math.min(Math.max(share, u / RARER), Math.max(u, MOST_COMMON)));
}
