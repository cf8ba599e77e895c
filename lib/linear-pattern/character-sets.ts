// What an escape or a class of a linear pattern stands for, as tests of code points.

import { refusal, type CharacterTest } from './pattern-program.ts'

export type PatternDialect = 'query' | 'ecma-262'

const isDigit: CharacterTest = (code) => code >= 48 && code <= 57
export const isWord: CharacterTest = (code) =>
  isDigit(code) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95
const isAsciiSpace: CharacterTest = (code) => code === 32 || (code >= 9 && code <= 13)
const isAnySpace: CharacterTest = (code) =>
  isAsciiSpace(code) || (code >= 0xa0 && /\s/u.test(String.fromCodePoint(code)))
const isLineEnd: CharacterTest = (code) =>
  code === 10 || code === 13 || code === 0x2028 || code === 0x2029

const SHORTHANDS: Readonly<Record<string, CharacterTest>> = {
  d: isDigit,
  D: not(isDigit),
  w: isWord,
  W: not(isWord),
}
const SPACES: Readonly<Record<PatternDialect, CharacterTest>> = {
  query: isAsciiSpace,
  'ecma-262': isAnySpace,
}
const DOTS: Readonly<Record<PatternDialect, CharacterTest>> = {
  query: () => true,
  'ecma-262': not(isLineEnd),
}

export function dotOf(dialect: PatternDialect): CharacterTest {
  return DOTS[dialect]
}

/** What `\` and the letter stand for; undefined if not a set of characters. */
export function shorthandOf(letter: string, dialect: PatternDialect): CharacterTest | undefined {
  if (letter === 's') return SPACES[dialect]
  if (letter === 'S') return not(SPACES[dialect])
  return Object.hasOwn(SHORTHANDS, letter) ? SHORTHANDS[letter] : undefined
}

/** `\p{...}`, by the tables of the platform. One character at a time, so that it takes no time. */
export function propertyOf(name: string): CharacterTest {
  let expression: RegExp
  try {
    expression = new RegExp(`^\\p{${name}}$`, 'u')
  } catch {
    throw refusal(`names an unknown property \\p{${name}}`)
  }
  return (code) => expression.test(String.fromCodePoint(code))
}

export function equals(expected: number): CharacterTest {
  return (code) => code === expected
}

export function between(low: number, high: number): CharacterTest {
  return (code) => code >= low && code <= high
}

export function not(test: CharacterTest): CharacterTest {
  return (code) => !test(code)
}

export function anyOf(tests: readonly CharacterTest[]): CharacterTest {
  const [only] = tests
  if (only !== undefined && tests.length === 1) return only
  return (code) => tests.some((test) => test(code))
}
