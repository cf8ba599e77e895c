// The syntax of linear patterns: that of ECMA-262, without back-references and look-around.

import {
  anyOf,
  between,
  dotOf,
  equals,
  not,
  propertyOf,
  shorthandOf,
  type PatternDialect,
} from './character-sets.ts'
import {
  either,
  refusal,
  repeated,
  sequence,
  single,
  type CharacterTest,
  type Fragment,
  type Instruction,
  type Repeat,
} from './pattern-program.ts'

export type { PatternDialect } from './character-sets.ts'

/** A schema may count the characters of a text; a query counts those of a word. */
const REPEAT_MAX: Readonly<Record<PatternDialect, number>> = { query: 1000, 'ecma-262': 9999 }
const GROUP_DEPTH_MAX = 50

interface Cursor {
  readonly text: string
  readonly dialect: PatternDialect
  at: number
  depth: number
}

/** How an expression is read. `isWhole` makes it match whole texts only. */
export interface ParseOptions {
  readonly isWhole: boolean
  readonly dialect: PatternDialect
  readonly lengthMax: number
}

export function parsePattern(text: string, options: ParseOptions): readonly Instruction[] {
  const program: Instruction[] = []
  parseFragment(text, options).emit(program)
  return program
}

/** The program, not written out yet. */
export function parseFragment(
  text: string,
  { isWhole, dialect, lengthMax }: ParseOptions,
): Fragment {
  if (text.length > lengthMax) throw refusal(`is longer than ${lengthMax} characters`)
  const cursor: Cursor = { text, dialect, at: 0, depth: 0 }
  const fragment = parseAlternatives(cursor)
  if (cursor.at < text.length) throw refusal(`has an unmatched ")" at position ${cursor.at}`)
  const begin = single({ op: 'begin' })
  const parts = isWhole ? [begin, fragment, single({ op: 'end' })] : [fragment]
  return sequence([...parts, single({ op: 'match' })])
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

const QUANTIFIERS: Readonly<Record<string, Repeat>> = {
  '*': { min: 0, max: undefined },
  '+': { min: 1, max: undefined },
  '?': { min: 0, max: 1 },
}
const COUNTED = /\{(\d{1,4})(,(\d{0,4}))?\}/y

function parseQuantifier(cursor: Cursor): Repeat | undefined {
  const sign = QUANTIFIERS[cursor.text[cursor.at] ?? '']
  if (sign !== undefined) {
    cursor.at += 1
    return sign
  }
  const counted = take(COUNTED, cursor)
  if (counted === undefined) return undefined
  const min = Number(counted[1])
  const openEnded = counted[2] !== undefined && counted[3] === ''
  const max = openEnded ? undefined : Number(counted[3] ?? min)
  const most = REPEAT_MAX[cursor.dialect]
  if (min > most || (max !== undefined && (max > most || max < min))) {
    throw refusal(`has a repetition out of order or above ${most}: ${counted[0]}`)
  }
  return { min, max }
}

function parseAtom(cursor: Cursor): Fragment {
  const position = cursor.at
  const code = takeCharacter(cursor)
  switch (String.fromCodePoint(code)) {
    case '(':
      return parseGroup(cursor)
    case '[':
      return consume(parseClass(cursor))
    case '.':
      return consume(dotOf(cursor.dialect))
    case '^':
      return single({ op: 'begin' })
    case '$':
      return single({ op: 'end' })
    case '\\':
      return parseBoundary(cursor) ?? consume(testOf(parseEscape(cursor)))
    case '*':
    case '+':
    case '?':
      throw refusal(`has nothing to repeat at position ${position}`)
    default:
      return consume(equals(code))
  }
}

const GROUP_BEGIN = /\?(?::|<[\p{L}_$][\p{L}\p{N}_$]*>)/uy

function parseGroup(cursor: Cursor): Fragment {
  if (take(GROUP_BEGIN, cursor) === undefined && cursor.text[cursor.at] === '?') {
    throw refusal('uses look-around or flags in a group; use plain groups ( ) or (?: )')
  }
  cursor.depth += 1
  if (cursor.depth > GROUP_DEPTH_MAX) throw refusal(`nests more than ${GROUP_DEPTH_MAX} groups`)
  const inner = parseAlternatives(cursor)
  cursor.depth -= 1
  if (cursor.text[cursor.at] !== ')') throw refusal('has a group without its ")"')
  cursor.at += 1
  return inner
}

function parseBoundary(cursor: Cursor): Fragment | undefined {
  const letter = cursor.text[cursor.at]
  if (letter !== 'b' && letter !== 'B') return undefined
  cursor.at += 1
  return single({ op: letter === 'b' ? 'word-boundary' : 'no-word-boundary' })
}

/** A code point, or a test for several. */
type Member = number | CharacterTest

const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 }
const PROPERTY = /([pP])\{([\w=]{1,60})\}/y
const CODE =
  /x([0-9a-fA-F]{2})|u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}/y
const CONTROL = /c([A-Za-z])/y

function parseEscape(cursor: Cursor): Member {
  const letter = cursor.text[cursor.at]
  if (letter === undefined) throw refusal('ends in a lone backslash')
  const long = parseLongEscape(cursor)
  if (long !== undefined) return long
  const whole = takeCharacter(cursor)
  const known = shorthandOf(letter, cursor.dialect)
  if (known !== undefined) return known
  const control = CONTROLS[letter]
  const next = cursor.text[cursor.at] ?? ''
  if (control !== undefined && !(letter === '0' && /\d/.test(next))) return control
  if (/[0-9k]/.test(letter)) {
    throw refusal('uses a back-reference, which is not supported; spell the text out')
  }
  if (/[A-Za-z]/.test(letter)) throw refusal(`uses \\${letter}, which is not supported`)
  return whole
}

/** Escapes of more than one letter. */
function parseLongEscape(cursor: Cursor): Member | undefined {
  const property = take(PROPERTY, cursor)
  if (property !== undefined) {
    const test = propertyOf(property[2] ?? '')
    return property[1] === 'p' ? test : not(test)
  }
  const control = take(CONTROL, cursor)
  if (control !== undefined) return (control[1] ?? '').charCodeAt(0) % 32
  const code = take(CODE, cursor)
  return code === undefined ? undefined : codePointOf(code)
}

function codePointOf([text, two, high, low, four, braced]: RegExpExecArray): number {
  if (high !== undefined && low !== undefined) {
    return String.fromCharCode(parseInt(high, 16), parseInt(low, 16)).codePointAt(0) ?? 0
  }
  const code = parseInt(two ?? four ?? braced ?? '', 16)
  if (code > 0x10ffff) throw refusal(`names no character: \\${text}`)
  return code
}

/** Matches the sticky expression at the cursor and moves the cursor behind the match. */
function take(expression: RegExp, cursor: Cursor): RegExpExecArray | undefined {
  expression.lastIndex = cursor.at
  const found = expression.exec(cursor.text)
  if (found === null) return undefined
  cursor.at += found[0].length
  return found
}

function parseClass(cursor: Cursor): CharacterTest {
  const negated = cursor.text[cursor.at] === '^'
  if (negated) cursor.at += 1
  const tests: CharacterTest[] = []
  // In the dialect of queries, a bracket that comes first closes nothing.
  const begin = cursor.dialect === 'query' ? cursor.at : -1
  while (cursor.text[cursor.at] !== ']' || cursor.at === begin) {
    if (cursor.at >= cursor.text.length) throw refusal('has a class without its "]"')
    tests.push(parseClassMember(cursor))
  }
  cursor.at += 1
  return negated ? not(anyOf(tests)) : anyOf(tests)
}

function parseClassMember(cursor: Cursor): CharacterTest {
  const low = takeMember(cursor)
  const next = cursor.text[cursor.at + 1]
  if (cursor.text[cursor.at] !== '-' || next === undefined || next === ']') return testOf(low)
  if (typeof low !== 'number') return testOf(low)
  const begin = cursor.at
  cursor.at += 1
  const high = takeMember(cursor)
  if (typeof high !== 'number' || low > high) {
    const shown = cursor.text.slice(begin, cursor.at)
    throw refusal(`has an invalid range ${String.fromCodePoint(low)}${shown}`)
  }
  return between(low, high)
}

function takeMember(cursor: Cursor): Member {
  const code = takeCharacter(cursor)
  if (code !== 92) return code
  if (cursor.text[cursor.at] !== 'b') return parseEscape(cursor)
  cursor.at += 1
  return 8 // In a class, \b is a backspace.
}

function testOf(member: Member): CharacterTest {
  return typeof member === 'number' ? equals(member) : member
}

function takeCharacter(cursor: Cursor): number {
  const code = cursor.text.codePointAt(cursor.at) ?? 0
  cursor.at += code > 0xffff ? 2 : 1
  return code
}

function consume(test: CharacterTest): Fragment {
  return single({ op: 'character', test })
}
