/** A word prepared for comparison. The mask has a bit for each letter that occurs, which rules out most pairs at once. */
export interface Word {
  readonly text: string;
  readonly mask: number;
}

/** How alike two words are, from the same to nothing in common. */
export type Likeness = "same" | "close" | "similar" | "far";

export function wordFrom(text: string): Word {
  let mask = 0;
  for (let i = 0; i < text.length; i += 1) mask |= 1 << (text.charCodeAt(i) & 31);
  return { text, mask };
}

/**
 * One edit is close, more of them similar as long as three quarters of the text stand. Words of one or two letters are
 * the same or far, since one edit makes any of them into any other.
 */
export function likeness(a: Word, b: Word): Likeness {
  if (a.text === b.text) return "same";
  const edits = editsWithin(a, b, allowedEdits(Math.max(a.text.length, b.text.length)));
  if (edits < 0) return "far";
  return edits <= 1 ? "close" : "similar";
}

function allowedEdits(length: number): number {
  if (length < 3) return 0;
  if (length < 6) return 1;
  if (length < 9) return 2;
  return Math.floor((length + 3) / 4);
}

/**
 * Edits that make one word into the other: letters put in, left out, replaced, or swapped with their neighbour (optimal
 * string alignment). -1 when there are more than the limit.
 */
export function editsWithin(a: Word, b: Word, limit: number): number {
  if (a.text === b.text) return 0;
  if (Math.abs(a.text.length - b.text.length) > limit) return -1;
  // An edit adds or removes at most two of the letters that occur.
  if (bitsOf(a.mask ^ b.mask) > 2 * limit) return -1;
  return align(a.text, b.text, limit);
}

/** Rows of bytes: no text that is compared is longer than 250 letters. */
function align(a: string, b: string, limit: number): number {
  const width = b.length + 1;
  let before = new Uint8Array(width);
  let previous = new Uint8Array(width);
  let current = new Uint8Array(width);
  for (let j = 0; j < width; j += 1) previous[j] = j;
  for (let i = 1; i <= a.length; i += 1) {
    const letter = a.charCodeAt(i - 1);
    current[0] = i;
    let least = i;
    for (let j = 1; j < width; j += 1) {
      const other = b.charCodeAt(j - 1);
      let cost = at(previous, j - 1) + (letter === other ? 0 : 1);
      cost = Math.min(cost, at(previous, j) + 1, at(current, j - 1) + 1);
      if (i > 1 && j > 1 && letter === b.charCodeAt(j - 2) && other === a.charCodeAt(i - 2)) {
        cost = Math.min(cost, at(before, j - 2) + 1);
      }
      current[j] = cost;
      if (cost < least) least = cost;
    }
    if (least > limit) return -1;
    [before, previous, current] = [previous, current, before];
  }
  const edits = at(previous, b.length);
  return edits <= limit ? edits : -1;
}

function at(row: Uint8Array, index: number): number {
  return row[index] ?? 0;
}

function bitsOf(mask: number): number {
  let bits = mask - ((mask >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return (((bits + (bits >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
}
