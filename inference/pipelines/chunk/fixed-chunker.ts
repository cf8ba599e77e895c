// Cuts a text into chunks of about equal token counts, at separators where possible.
//
//   text    one two three | four five | six         atoms are words
//   pieces  [one two three] [four five] [six]       between separators, cut finer if too long
//   chunks  [one two three  four]                    packed in order
//                           [four five six]          may begin with what the last one ended with
//
// Invariants:
//   FC1  A chunk is a slice of the text that begins and ends with an atom.
//   FC2  Starts and ends strictly increase: a chunk has an atom that no earlier one has.
//   FC3  A chunk has at most `targetTokens` tokens, unless it is one character.
//   FC4  Two neighbours share at most `overlapTokens` tokens.

import { countTokens } from '../../text/token-counter.ts'
import type { ChunkSettings } from './chunk-settings.ts'

/** A slice of a text, in UTF-16 code units. */
export interface TextRange {
  readonly start: number
  readonly end: number
}

/** What is never cut: a word, or a part of a word that is longer than a chunk. */
interface Atom extends TextRange {
  readonly tokens: number
  /** Of the separator before it, as it stands in the text. */
  readonly gapTokens: number
}

export function chunkFixed(text: string, settings: ChunkSettings): TextRange[] {
  return packPieces(text, separatedRanges(text, settings.separator), settings)
}

/** Packs ranges of a text, in order, into chunks. Ranges longer than a chunk are cut. */
export function packPieces(
  text: string,
  ranges: Iterable<TextRange>,
  settings: ChunkSettings,
): TextRange[] {
  const chunks: TextRange[] = []
  let current: Atom[] = []
  let currentTokens = 0
  for (const piece of piecesOf(text, ranges, settings.targetTokens)) {
    const own = tokensOf(piece)
    const added = own + (piece[0]?.gapTokens ?? 0)
    if (current.length > 0 && currentTokens + added > settings.targetTokens) {
      chunks.push(rangeOf(current))
      if (chunks.length === settings.maxChunks) return chunks
      const room = Math.min(settings.overlapTokens, settings.targetTokens - added)
      current = lastAtoms(current, room)
      currentTokens = tokensOf(current)
    }
    currentTokens += current.length === 0 ? own : added
    current.push(...piece)
  }
  return current.length === 0 ? chunks : [...chunks, rangeOf(current)]
}

function rangeOf(atoms: readonly Atom[]): TextRange {
  return { start: atoms[0]?.start ?? 0, end: atoms.at(-1)?.end ?? 0 }
}

/** The first atom never belongs to it, so that the next chunk starts later. */
function lastAtoms(atoms: readonly Atom[], tokensMax: number): Atom[] {
  let tokens = 0
  let from = atoms.length
  while (from > 1) {
    tokens += (atoms[from - 1]?.tokens ?? 0) + (atoms[from]?.gapTokens ?? 0)
    if (tokens > tokensMax) break
    from -= 1
  }
  return atoms.slice(from)
}

/** From the first atom to the last, with the separators between them. */
function tokensOf(atoms: readonly Atom[]): number {
  const withFirstGap = atoms.reduce((sum, { tokens, gapTokens }) => sum + tokens + gapTokens, 0)
  return withFirstGap - (atoms[0]?.gapTokens ?? 0)
}

function* piecesOf(
  text: string,
  ranges: Iterable<TextRange>,
  targetTokens: number,
): Generator<readonly Atom[]> {
  let end = 0
  for (const range of ranges) {
    for (const [first, ...rest] of atomGroups(text, range, { targetTokens, level: 0 })) {
      if (first === undefined) continue
      const gapTokens = countTokens(text.slice(end, first.start))
      yield [{ ...first, gapTokens }, ...rest]
      end = (rest.at(-1) ?? first).end
    }
  }
}

const FINER: readonly ((text: string, range: TextRange) => Iterable<TextRange>)[] = [
  (text, range) => splitAt(text, range, { separator: '\n', kept: 0 }),
  (text, range) => splitAt(text, range, { separator: '. ', kept: 1 }),
  wordRanges,
]

/** The words of a range as one group, if they fit into a chunk, else of its parts. */
function* atomGroups(
  text: string,
  range: TextRange,
  { targetTokens, level }: { readonly targetTokens: number; readonly level: number },
): Generator<readonly Atom[]> {
  const atoms = leadingAtoms(text, range, targetTokens)
  const split = FINER[level]
  if (atoms.length === 0) return
  if (tokensOf(atoms) <= targetTokens) yield atoms
  else if (split === undefined) yield* cutWord(text, atoms, targetTokens)
  else {
    for (const part of split(text, range)) {
      yield* atomGroups(text, part, { targetTokens, level: level + 1 })
    }
  }
}

/** All words of a range, or, if they are too many for a chunk, just enough to tell. */
function leadingAtoms(text: string, range: TextRange, targetTokens: number): Atom[] {
  const atoms: Atom[] = []
  let tokens = 0
  for (const word of wordRanges(text, range)) {
    const atom = atomOf(text, word)
    atoms.push(atom)
    tokens += atom.tokens
    if (tokens > targetTokens) break
  }
  return atoms
}

function atomOf(text: string, { start, end }: TextRange): Atom {
  return { start, end, tokens: countTokens(text.slice(start, end)), gapTokens: 0 }
}

/** Parts of an eighth of a chunk, so that chunks of a text without spaces come out almost full. */
const PARTS_PER_CHUNK = 8

function* cutWord(
  text: string,
  atoms: readonly Atom[],
  targetTokens: number,
): Generator<readonly Atom[]> {
  const tokensMax = Math.max(1, Math.floor(targetTokens / PARTS_PER_CHUNK))
  for (const atom of atoms) yield* halves(text, atom, tokensMax)
}

function* halves(text: string, atom: Atom, tokensMax: number): Generator<readonly Atom[]> {
  const middle = codePointBorder(text, atom)
  if (atom.tokens <= tokensMax || middle === undefined) {
    yield [atom]
    return
  }
  yield* halves(text, atomOf(text, { start: atom.start, end: middle }), tokensMax)
  yield* halves(text, atomOf(text, { start: middle, end: atom.end }), tokensMax)
}

/** Near the middle; undefined for a single character. */
function codePointBorder(text: string, { start, end }: TextRange): number | undefined {
  const middle = Math.ceil((start + end) / 2)
  const isInside =
    /[\ud800-\udbff]/.test(text.charAt(middle - 1)) && /[\udc00-\udfff]/.test(text.charAt(middle))
  const border = isInside ? middle - 1 : middle
  return border > start && border < end ? border : undefined
}

/** Between separators; a text without them is cut at newlines, else after sentences. */
function separatedRanges(text: string, separator: string): Iterable<TextRange> {
  const all = { start: 0, end: text.length }
  if (separator !== '' && text.includes(separator)) {
    return splitAt(text, all, { separator, kept: 0 })
  }
  if (text.includes('\n')) return splitAt(text, all, { separator: '\n', kept: 0 })
  return splitAt(text, all, { separator: '. ', kept: 1 })
}

/** `kept` characters of the separator stay with what stands before it. */
function* splitAt(
  text: string,
  { start, end }: TextRange,
  { separator, kept }: { readonly separator: string; readonly kept: number },
): Generator<TextRange> {
  let from = start
  for (;;) {
    const at = text.indexOf(separator, from)
    if (at < 0 || at + separator.length > end) break
    yield { start: from, end: at + kept }
    from = at + separator.length
  }
  yield { start: from, end }
}

const WORD = /\S+/g

function* wordRanges(text: string, { start, end }: TextRange): Generator<TextRange> {
  for (const { 0: word, index } of text.slice(start, end).matchAll(WORD)) {
    yield { start: start + index, end: start + index + word.length }
  }
}
