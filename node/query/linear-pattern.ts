// Regular expressions from clients, matched in time linear in the text.
//
// The expression is compiled to a program for Thompson's simulation (R. Cox, "Regular Expression
// Matching: the Virtual Machine Approach"): all alternatives advance together over the name, so no
// expression can make the matcher go back. What cannot be matched that way (back-references,
// look-around) is refused.

import { unreachable } from '../../lib/assert.ts'
import { ServiceError } from '../../lib/errors.ts'

export const PATTERN_LENGTH_MAX = 500
/** Counted repetition multiplies; this bounds what it can multiply to. */
const PROGRAM_LENGTH_MAX = 10_000
const REPEAT_MAX = 1000
const GROUP_DEPTH_MAX = 50

type CharacterTest = (code: number) => boolean

type Instruction =
  | { readonly op: 'character'; readonly test: CharacterTest }
  | { readonly op: 'split'; readonly targets: readonly number[] }
  | { readonly op: 'begin' }
  | { readonly op: 'end' }
  | { readonly op: 'match' }

/** Part of a program. Its size is known before it is emitted, so that no program gets too long. */
interface Fragment {
  readonly size: number
  /** The instructions as they read when placed at `at`; what follows is placed behind them. */
  emit(at: number): readonly Instruction[]
}

const BEGIN = single({ op: 'begin' })
const END = single({ op: 'end' })

interface Cursor {
  readonly text: string
  at: number
  depth: number
}

export interface LinearPatternOptions {
  /** `whole`: the expression must match all of the text, as if it were written `^(?:...)$`. */
  readonly match: 'anywhere' | 'whole'
}

/** A test that holds when the expression matches. */
export function parseLinearPattern(
  text: string,
  { match }: LinearPatternOptions,
): (candidate: string) => boolean {
  if (text.length > PATTERN_LENGTH_MAX) {
    throw refusal(`is longer than ${PATTERN_LENGTH_MAX} characters`)
  }
  const cursor: Cursor = { text, at: 0, depth: 0 }
  const fragment = parseAlternatives(cursor)
  if (cursor.at < text.length) throw refusal(`has an unmatched ")" at position ${cursor.at}`)
  const parts = match === 'whole' ? [BEGIN, fragment, END] : [fragment]
  const program: readonly Instruction[] = [...sequence(parts).emit(0), { op: 'match' }]
  const isAnchored = match === 'whole'
  return (candidate) => matches(program, candidate, isAnchored)
}

function parseAlternatives(cursor: Cursor): Fragment {
  const branches = [parseSequence(cursor)]
  while (cursor.text[cursor.at] === '|') {
    cursor.at += 1
    branches.push(parseSequence(cursor))
  }
  return branches.reduceRight((rest, branch) => either(branch, rest))
}

function parseSequence(cursor: Cursor): Fragment {
  const parts: Fragment[] = []
  while (cursor.at < cursor.text.length && !'|)'.includes(cursor.text[cursor.at] ?? '')) {
    parts.push(parseRepeated(cursor))
  }
  return sequence(parts)
}

function parseRepeated(cursor: Cursor): Fragment {
  const atom = parseAtom(cursor)
  const repeat = parseQuantifier(cursor)
  if (repeat === undefined) return atom
  if (cursor.text[cursor.at] === '?') cursor.at += 1 // reluctant or not, the answer is the same
  if (parseQuantifier(cursor) !== undefined) {
    throw refusal(`has nothing to repeat at position ${cursor.at - 1}`)
  }
  return repeated(atom, repeat)
}

interface Repeat {
  readonly min: number
  readonly max: number | undefined
}

const QUANTIFIERS: Readonly<Record<string, Repeat>> = {
  '*': { min: 0, max: undefined },
  '+': { min: 1, max: undefined },
  '?': { min: 0, max: 1 },
}

function parseQuantifier(cursor: Cursor): Repeat | undefined {
  const sign = QUANTIFIERS[cursor.text[cursor.at] ?? '']
  if (sign !== undefined) {
    cursor.at += 1
    return sign
  }
  const counted = /^\{(\d{1,4})(,(\d{0,4}))?\}/.exec(cursor.text.slice(cursor.at))
  if (counted === null) return undefined
  cursor.at += counted[0].length
  const min = Number(counted[1])
  const openEnded = counted[2] !== undefined && counted[3] === ''
  const max = openEnded ? undefined : Number(counted[3] ?? min)
  if (min > REPEAT_MAX || (max !== undefined && (max > REPEAT_MAX || max < min))) {
    throw refusal(`has a repetition out of order or above ${REPEAT_MAX}: ${counted[0]}`)
  }
  return { min, max }
}

function parseAtom(cursor: Cursor): Fragment {
  const character = cursor.text[cursor.at] ?? ''
  const position = cursor.at
  cursor.at += 1
  switch (character) {
    case '(':
      return parseGroup(cursor)
    case '[':
      return consume(parseClass(cursor))
    case '.':
      return consume(() => true)
    case '^':
      return single({ op: 'begin' })
    case '$':
      return single({ op: 'end' })
    case '\\':
      return consume(parseEscape(cursor))
    case '*':
    case '+':
    case '?':
      throw refusal(`has nothing to repeat at position ${position}`)
    default:
      return consume(equals(character.charCodeAt(0)))
  }
}

function parseGroup(cursor: Cursor): Fragment {
  if (cursor.text.startsWith('?:', cursor.at)) cursor.at += 2
  else if (cursor.text[cursor.at] === '?') {
    throw refusal('uses look-around or a named group; use plain groups ( ) or (?: )')
  }
  cursor.depth += 1
  if (cursor.depth > GROUP_DEPTH_MAX) throw refusal(`nests more than ${GROUP_DEPTH_MAX} groups`)
  const inner = parseAlternatives(cursor)
  cursor.depth -= 1
  if (cursor.text[cursor.at] !== ')') throw refusal('has a group without its ")"')
  cursor.at += 1
  return inner
}

const isDigit: CharacterTest = (code) => code >= 48 && code <= 57
const isWord: CharacterTest = (code) =>
  isDigit(code) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95
const isSpace: CharacterTest = (code) => code === 32 || (code >= 9 && code <= 13)

const ESCAPES: Readonly<Record<string, CharacterTest>> = {
  d: isDigit,
  D: (code) => !isDigit(code),
  w: isWord,
  W: (code) => !isWord(code),
  s: isSpace,
  S: (code) => !isSpace(code),
}

function parseEscape(cursor: Cursor): CharacterTest {
  const character = cursor.text[cursor.at]
  if (character === undefined) throw refusal('ends in a lone backslash')
  cursor.at += 1
  const known = ESCAPES[character]
  if (known !== undefined) return known
  if (/[1-9k]/.test(character)) {
    throw refusal('uses a back-reference, which is not supported; spell the text out')
  }
  if (/[A-Za-z0]/.test(character)) throw refusal(`uses \\${character}, which is not supported`)
  return equals(character.charCodeAt(0))
}

function parseClass(cursor: Cursor): CharacterTest {
  const negated = cursor.text[cursor.at] === '^'
  if (negated) cursor.at += 1
  const tests: CharacterTest[] = []
  const begin = cursor.at
  while (cursor.text[cursor.at] !== ']' || cursor.at === begin) {
    if (cursor.at >= cursor.text.length) throw refusal('has a class without its "]"')
    tests.push(parseClassMember(cursor))
  }
  cursor.at += 1
  return (code) => tests.some((test) => test(code)) !== negated
}

function parseClassMember(cursor: Cursor): CharacterTest {
  const character = cursor.text[cursor.at] ?? ''
  cursor.at += 1
  if (character === '\\') return parseEscape(cursor)
  const last = cursor.text[cursor.at + 1]
  if (cursor.text[cursor.at] !== '-' || last === undefined || last === ']') {
    return equals(character.charCodeAt(0))
  }
  cursor.at += 2
  const [low, high] = [character.charCodeAt(0), last.charCodeAt(0)]
  if (last === '\\' || low > high) throw refusal(`has an invalid range ${character}-${last}`)
  return (code) => code >= low && code <= high
}

function equals(expected: number): CharacterTest {
  return (code) => code === expected
}

function consume(test: CharacterTest): Fragment {
  return single({ op: 'character', test })
}

function single(instruction: Instruction): Fragment {
  return { size: 1, emit: () => [instruction] }
}

function sequence(parts: readonly Fragment[]): Fragment {
  // Without the empty parts, size also bounds how long emitting takes.
  const full = parts.filter((part) => part.size > 0)
  const size = full.reduce((sum, part) => sum + part.size, 0)
  return bounded({
    size,
    emit: (at) => {
      const code: Instruction[] = []
      for (const part of full) code.push(...part.emit(at + code.length))
      return code
    },
  })
}

function either(left: Fragment, right: Fragment): Fragment {
  const size = left.size + right.size + 2
  return bounded({
    size,
    emit: (at) => {
      const join = at + 1 + left.size
      return [
        { op: 'split', targets: [at + 1, join + 1] },
        ...left.emit(at + 1),
        { op: 'split', targets: [at + size] },
        ...right.emit(join + 1),
      ]
    },
  })
}

function repeated(atom: Fragment, { min, max }: Repeat): Fragment {
  if (atom.size === 0) return atom
  const required = Array<Fragment>(min).fill(atom)
  const optional = max === undefined ? [loop(atom)] : Array<Fragment>(max - min).fill(maybe(atom))
  return sequence([...required, ...optional])
}

function loop(atom: Fragment): Fragment {
  const size = atom.size + 2
  return bounded({
    size,
    emit: (at) => [
      { op: 'split', targets: [at + 1, at + size] },
      ...atom.emit(at + 1),
      { op: 'split', targets: [at] },
    ],
  })
}

function maybe(atom: Fragment): Fragment {
  const size = atom.size + 1
  return bounded({
    size,
    emit: (at) => [{ op: 'split', targets: [at + 1, at + size] }, ...atom.emit(at + 1)],
  })
}

function bounded(fragment: Fragment): Fragment {
  if (fragment.size > PROGRAM_LENGTH_MAX) throw refusal('repeats too much; use smaller counts')
  return fragment
}

function matches(program: readonly Instruction[], text: string, isAnchored: boolean): boolean {
  let states = new Set<number>()
  for (let at = 0; at <= text.length; at += 1) {
    // A match may begin anywhere, so the first instruction is tried at every position.
    if (at === 0 || !isAnchored) {
      if (reach({ program, states, at, length: text.length }, 0)) return true
    } else if (states.size === 0) {
      return false
    }
    const next = new Set<number>()
    const code = text.charCodeAt(at)
    for (const state of states) {
      const instruction = program[state]
      if (instruction?.op !== 'character' || at === text.length || !instruction.test(code)) continue
      const step = { program, states: next, at: at + 1, length: text.length }
      if (reach(step, state + 1)) return true
    }
    states = next
  }
  return false
}

interface Step {
  readonly program: readonly Instruction[]
  readonly states: Set<number>
  readonly at: number
  readonly length: number
}

/** Adds every state reachable from `start` without a character; true if one of them matches. */
function reach(step: Step, start: number): boolean {
  const pending = [start]
  for (let state = pending.pop(); state !== undefined; state = pending.pop()) {
    if (step.states.has(state)) continue
    step.states.add(state)
    if (step.program[state]?.op === 'match') return true
    pending.push(...nextStates(step, state))
  }
  return false
}

/** Where a state leads at this position without taking a character. */
function nextStates({ program, at, length }: Step, state: number): readonly number[] {
  const instruction = program[state]
  switch (instruction?.op) {
    case 'split':
      return instruction.targets
    case 'begin':
      return at === 0 ? [state + 1] : []
    case 'end':
      return at === length ? [state + 1] : []
    case 'character':
    case 'match':
    case undefined:
      return []
    default:
      return unreachable(instruction)
  }
}

function refusal(problem: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `pattern ${problem}`)
}
