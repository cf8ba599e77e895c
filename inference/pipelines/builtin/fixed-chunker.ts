// Cuts a text into chunks of about equal token counts, at separators where possible.
//
//   text    one two three | four five | six         atoms are words
//   pieces  [one two three] [four five] [six]       between separators, cut finer if too long
//   chunks  [one two three  four]                    packed in order
//                           [four five six]          may begin with the end of the one before
//
// Invariants:
//   FC1  A chunk is a slice of the text that begins and ends with an atom.
//   FC2  Starts and ends strictly increase: a chunk has an atom that no earlier one has.
//   FC3  A chunk has at most `targetTokens` tokens, unless it is one character.
//   FC4  Two neighbours share at most `overlapTokens` tokens.
//   FC5  Where the overlap is at most half of the target, no character is in more than four chunks:
//        two neighbours together bring half a target of new tokens.
//   FC6  Between two yields there is about a millisecond of work, for every text.

import type { TextRange } from './word-scanner.ts'
import { StepMeter } from '../../../lib/sliced.ts'
import type { Sliced } from '../../../lib/sliced.ts'
import { countTokensIn } from '../../text/token-counter.ts'
import { nextWord } from './word-scanner.ts'
import type { ChunkSettings } from './chunk-settings.ts'

/** The smallest unit, which is never cut: a word, or a part of a word that is longer than a chunk. */
interface Atom extends TextRange {
  readonly tokens: number
  /** The tokens of the text between this atom and the one before it. */
  readonly gapTokens: number
}

/** Yields values one after the other; undefined is a pause. */
type Paused<Value> = Generator<Value | undefined, void, undefined>

/** The characters read, or atoms and ranges made, in about a millisecond. */
const UNITS_PER_STEP = 16_384
/** A range costs as much as this many characters. */
const RANGE_UNITS = 16

/** Cuts a text at separators where possible (FC1 to FC6). */
export function* chunkFixed(text: string, settings: ChunkSettings): Sliced<TextRange[]> {
  const source = { text, meter: new StepMeter(UNITS_PER_STEP) }
  const separated = yield* separatedRanges(source, settings.separator)
  return yield* pack(source, separated, settings)
}

/** Packs ranges of a text, in order, into chunks. A range longer than a chunk is cut. */
export function* packPieces(
  text: string,
  ranges: Iterable<TextRange>,
  settings: ChunkSettings,
): Sliced<TextRange[]> {
  return yield* pack({ text, meter: new StepMeter(UNITS_PER_STEP) }, ranges, settings)
}

interface Source {
  readonly text: string
  readonly meter: StepMeter
}

function* pack(
  source: Source,
  ranges: Iterable<TextRange | undefined>,
  settings: ChunkSettings,
): Sliced<TextRange[]> {
  const chunks: TextRange[] = []
  let current: Atom[] = []
  let currentTokens = 0
  for (const piece of piecesOf(source, ranges, settings.targetTokens)) {
    if (piece === undefined) {
      yield undefined
      continue
    }
    const own = tokensOf(piece)
    const added = own + (piece[0]?.gapTokens ?? 0)
    if (current.length > 0 && currentTokens + added > settings.targetTokens) {
      chunks.push(rangeOf(current))
      if (chunks.length === settings.maxChunks) return chunks
      if (source.meter.spend(current.length)) yield undefined
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

/**
 * The last atoms within `tokensMax`. It never includes the first one, so that the next chunk starts
 * later (FC2).
 */
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

/** The tokens from the first atom to the last, with the gaps between them. */
function tokensOf(atoms: readonly Atom[]): number {
  const withFirstGap = atoms.reduce((sum, { tokens, gapTokens }) => sum + tokens + gapTokens, 0)
  return withFirstGap - (atoms[0]?.gapTokens ?? 0)
}

function* piecesOf(
  source: Source,
  ranges: Iterable<TextRange | undefined>,
  targetTokens: number,
): Paused<readonly Atom[]> {
  let end = 0
  for (const range of ranges) {
    if (range === undefined || source.meter.spend(RANGE_UNITS)) yield undefined
    if (range === undefined) continue
    for (const group of atomGroups(source, range, { targetTokens, level: 0 })) {
      const [first, ...rest] = group ?? []
      if (first === undefined) {
        yield undefined
        continue
      }
      const gapTokens = yield* countTokensIn(source.text, { start: end, end: first.start })
      yield [{ ...first, gapTokens }, ...rest]
      end = (rest.at(-1) ?? first).end
    }
  }
}

const FINER: readonly ((source: Source, range: TextRange) => Paused<TextRange>)[] = [
  (source, range) => splitAt(source, range, { separator: '\n', kept: 0 }),
  (source, range) => splitAt(source, range, { separator: '. ', kept: 1 }),
  wordRanges,
]

/**
 * The words of a range as one group if they fit into a chunk; otherwise the groups of its parts.
 */
function* atomGroups(
  source: Source,
  range: TextRange,
  { targetTokens, level }: { readonly targetTokens: number; readonly level: number },
): Paused<readonly Atom[]> {
  const atoms = yield* leadingAtoms(source, range, targetTokens)
  const split = FINER[level]
  if (atoms.length === 0) return
  if (tokensOf(atoms) <= targetTokens) yield atoms
  else if (split === undefined) yield* cutWord(source, atoms, targetTokens)
  else {
    for (const part of split(source, range)) {
      if (part === undefined) yield undefined
      else yield* atomGroups(source, part, { targetTokens, level: level + 1 })
    }
  }
}

/** All words of a range. If they exceed a chunk, it stops as soon as that is certain. */
function* leadingAtoms(source: Source, range: TextRange, targetTokens: number): Sliced<Atom[]> {
  const atoms: Atom[] = []
  let tokens = 0
  for (const word of wordRanges(source, range)) {
    if (word === undefined) {
      yield undefined
      continue
    }
    const atom = yield* atomOf(source, word)
    atoms.push(atom)
    tokens += atom.tokens
    if (tokens > targetTokens) break
  }
  return atoms
}

function* atomOf({ text, meter }: Source, { start, end }: TextRange): Sliced<Atom> {
  if (meter.spend(RANGE_UNITS)) yield undefined
  return { start, end, tokens: yield* countTokensIn(text, { start, end }), gapTokens: 0 }
}

/** A word without spaces is cut into eighths of a chunk, so that its chunks are almost full. */
const PARTS_PER_CHUNK = 8

function* cutWord(
  source: Source,
  atoms: readonly Atom[],
  targetTokens: number,
): Paused<readonly Atom[]> {
  const tokensMax = Math.max(1, Math.floor(targetTokens / PARTS_PER_CHUNK))
  for (const atom of atoms) yield* halves(source, atom, tokensMax)
}

function* halves(source: Source, atom: Atom, tokensMax: number): Paused<readonly Atom[]> {
  const middle = codePointBorder(source.text, atom)
  if (atom.tokens <= tokensMax || middle === undefined) {
    yield [atom]
    return
  }
  const first = yield* atomOf(source, { start: atom.start, end: middle })
  yield* halves(source, first, tokensMax)
  const second = yield* atomOf(source, { start: middle, end: atom.end })
  yield* halves(source, second, tokensMax)
}

/** A border near the middle that splits no surrogate pair; undefined for a single character. */
function codePointBorder(text: string, { start, end }: TextRange): number | undefined {
  const middle = Math.ceil((start + end) / 2)
  const isInside =
    /[\ud800-\udbff]/.test(text.charAt(middle - 1)) && /[\udc00-\udfff]/.test(text.charAt(middle))
  const border = isInside ? middle - 1 : middle
  return border > start && border < end ? border : undefined
}

/**
 * The ranges between separators. A text without the separator is cut at newlines, else after
 * sentences.
 */
function* separatedRanges(source: Source, separator: string): Sliced<Paused<TextRange>> {
  const all = { start: 0, end: source.text.length }
  for (const known of [separator, '\n']) {
    if (known === '' || (yield* placeOf(source, all, known)) < 0) continue
    return splitAt(source, all, { separator: known, kept: 0 })
  }
  return splitAt(source, all, { separator: '. ', kept: 1 })
}

/**
 * The ranges between separators. `kept` characters of each separator stay with the range before it.
 */
function* splitAt(
  source: Source,
  { start, end }: TextRange,
  { separator, kept }: { readonly separator: string; readonly kept: number },
): Paused<TextRange> {
  let from = start
  for (;;) {
    const at = yield* placeOf(source, { start: from, end }, separator)
    if (at < 0) break
    if (source.meter.spend(RANGE_UNITS)) yield undefined
    yield { start: from, end: at + kept }
    from = at + separator.length
  }
  yield { start: from, end }
}

/** The index of the first whole separator within a range; -1 if there is none. */
function* placeOf(
  { text, meter }: Source,
  { start, end }: TextRange,
  separator: string,
): Sliced<number> {
  for (let from = start; from < end; from += UNITS_PER_STEP) {
    const to = Math.min(end, from + UNITS_PER_STEP + separator.length - 1)
    const at = text.slice(from, to).indexOf(separator)
    if (meter.spend(at < 0 ? to - from : at)) yield undefined
    if (at >= 0) return from + at
  }
  return -1
}

function* wordRanges({ text, meter }: Source, { start, end }: TextRange): Paused<TextRange> {
  let from = start
  for (;;) {
    const word = yield* nextWord(text, { start: from, end }, meter)
    if (word === undefined) return
    yield word
    from = word.end
  }
}
