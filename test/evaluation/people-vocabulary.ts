const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/** The more common further up. */
export const GIVEN_NAMES = words(`
  James Mary John Sarah Michael Emma David Anna Thomas Laura Daniel Maria Robert Julia William Sophie Peter Lucy
  Matthew Elizabeth Andrew Katherine Joseph Hannah Christopher Olivia Samuel Charlotte Paul Jessica Mark Rebecca
  Benjamin Jennifer Alexander Victoria Stephen Margaret Anthony Susan Edward Natalie Nicholas Patricia Richard Nicole
  Joshua Christine Jonathan Deborah Patrick Abigail Timothy Samantha Gregory Stephanie Kenneth Pamela Frederick Barbara
  José Zoë Renée Jürgen Søren Chloë Łukasz Ahmed Fatima Wei Priya Arjun Yuki Olga Ivan Mehmet Aisha Kwame Ingrid Bjørn
  Amélie Hugo Noah Mia Leon Ella Oscar Freya Felix Clara Ruben Ines Mateo Lucia Diego Elena Marco Giulia Luca Chiara
`);

export const SURNAMES = words(`
  Smith Jones Williams Brown Taylor Davies Wilson Evans Thomas Johnson Roberts Walker Wright Robinson Thompson White
  Hughes Edwards Green Hall Wood Harris Lewis Martin Jackson Clarke Clark Turner Hill Scott Cooper Morris Ward Moore
  King Watson Baker Harrison Morgan Patel Young Allen Mitchell James Anderson Phillips Lee Bell Parker Davis Bennett
  Miller Cook Shaw Cox Richardson Marshall Collins Carter Bailey Gray Murphy Khan Ahmed Kelly Chapman Palmer Stevens
  Schmidt Müller Weber Fischer García Fernández López Nowak Kowalski Novák Horváth Rossi Ferrari Dubois Lefèvre Moreau
  Jansen Bakker Andersson Nielsen Virtanen Ivanova Petrov Yılmaz Nguyen Chen Wang Tanaka Suzuki Okafor Mensah Haddad
  Fitzgerald Underhill Blackwood Ashworth Pemberton Holloway Winterbourne Thistlewood Lockwood Fairweather Kingsley
`);

/** Makes rarer surnames of common ones. */
export const SURNAME_ENDINGS = words("son well ford ley ham by wick stone more field");

export const STREETS = words(`
  High Station Church Park Victoria Green Manor Kings Queens Mill School London Grange Windsor Albert Chapel Springfield
  York Highfield Broad Meadow Orchard Hazel Willow Chestnut Juniper Larkspur Foxglove Heron Kestrel Nightingale Osprey
`);

export const TRADES = words("Logistics Software Foods Media Energy Partners Textiles Optics Motors Health");

export const PROVIDERS = words("gmail.com outlook.com yahoo.com hotmail.com icloud.com gmx.de proton.me web.de");

/** City and the beginning of its postcodes. */
export const CITIES: readonly (readonly [city: string, area: string])[] = [
  ["London", "SE"],
  ["London", "NW"],
  ["Manchester", "M"],
  ["Birmingham", "B"],
  ["Leeds", "LS"],
  ["Glasgow", "G"],
  ["Bristol", "BS"],
  ["Sheffield", "S"],
  ["Cardiff", "CF"],
  ["Nottingham", "NG"],
  ["Oxford", "OX"],
  ["Norwich", "NR"],
  ["Exeter", "EX"],
  ["Inverness", "IV"],
];

export const NICKNAMES: Readonly<Record<string, string>> = {
  James: "Jim",
  Michael: "Mike",
  David: "Dave",
  Thomas: "Tom",
  Daniel: "Dan",
  Robert: "Bob",
  William: "Bill",
  Peter: "Pete",
  Matthew: "Matt",
  Elizabeth: "Liz",
  Andrew: "Andy",
  Katherine: "Kate",
  Joseph: "Joe",
  Christopher: "Chris",
  Samuel: "Sam",
  Jessica: "Jess",
  Rebecca: "Becky",
  Benjamin: "Ben",
  Jennifer: "Jenny",
  Alexander: "Alex",
  Stephen: "Steve",
  Margaret: "Maggie",
  Anthony: "Tony",
  Nicholas: "Nick",
  Patricia: "Pat",
  Richard: "Rick",
};
