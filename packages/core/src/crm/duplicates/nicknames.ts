/** Short forms beside the names they stand for. A short form may belong to several lines. */
const LINES = `
alexander alex al sandy xander sasha
alexandra alex sandra sandy lexi sasha
abigail abby abbie gail
albert al bert
andrew andy drew
andrea andy andi
anthony antony tony
antonio tony toni
barbara barb babs
benjamin ben benny benji
bernard bernie
catherine katherine kathryn katharine katarina cathy kathy kate katie kat kit kitty cate
charles charlie chuck chas
charlotte charlie lottie
christine christina chris chrissy tina kristina
christopher chris kris topher
daniel dan danny
david dave davey
deborah debra deb debbie
dominic dom nick
donald don donnie
dorothy dot dottie dolly
edward ed eddie ted ned teddy
eleanor ellie nell nora
elizabeth elisabeth liz lizzie beth betty eliza libby lisa elsa bess
emily em emmy
frances fran francesca frankie
francis frank fran francisco paco
frederick fred freddie friedrich
gabriel gabe
gerald gerry jerry
gregory greg
harold harry hal
henry harry hank heinrich
isabella isabel isabelle bella izzy
jacob jake jakob
jacqueline jackie
james jim jimmy jamie
jennifer jen jenny jenna
jessica jess jessie
joanna johanna jo joan hanna
john johnny jack jon johann
jonathan jon jonny
joseph joe joey josef pepe
josephine jo josie
joshua josh
judith judy
kenneth ken kenny
kimberly kim
lawrence laurence larry lars
leonard len lenny leo
leonardo leo
lucille lucy lucia
madeline madeleine maddie
margaret maggie meg peggy marge greta rita
martin marty
matthew matt matty matthias
maximilian max
michael mike mick mikey micky michel
michelle shelly
mohammed muhammad mohamed mohammad mo
nathaniel nathan nate
natalie nat natalia natasha
nicholas nicolas nick nicky nico klaus
nicole nicky nikki
olivia liv livvy
oliver ollie
pamela pam
patricia pat patty trish tricia
patrick pat paddy
peter pete
philip phillip phil
rebecca becky becca
reginald reg reggie
richard rick rich dick ricky richie
robert bob rob bobby robbie bert
roberta bobbie
ronald ron ronnie
rosemary rose rosie
samantha sam sammy
samuel sam sammy
sarah sara sally sadie
sebastian seb bastian
stephen steven steve stefan stephan
stephanie steph steffi
susan susanna suzanne sue susie
terence terry
teresa theresa terry tess
theodore theo ted teddy
thomas tom tommy
timothy tim timmy
valerie val
veronica ronnie vera
victor vic
victoria vicky tori
vincent vince vinnie
walter walt wally
william will bill billy willy liam wilhelm
zachary zach zack
`;

const NONE: readonly number[] = [];
const LINES_OF_NAME: ReadonlyMap<string, readonly number[]> = readLines();

/** The lines that a folded given name stands on; two names with a line in common may be one. */
export function nicknameLines(name: string): readonly number[] {
  return LINES_OF_NAME.get(name) ?? NONE;
}

function readLines(): Map<string, number[]> {
  const lines = new Map<string, number[]>();
  for (const [index, line] of LINES.trim().split("\n").entries()) {
    for (const name of line.split(" ")) lines.set(name, [...(lines.get(name) ?? []), index]);
  }
  return lines;
}
