// Regular expressions from clients, matched in time linear in the text.
//
// An expression becomes a program for Thompson's simulation (R. Cox, "Regular Expression Matching in
// the Wild"): all alternatives advance together over the text, so that no expression can make the
// matcher go back. What cannot be matched that way (back-references, look-around) is refused.

import type { Sliced } from '../sliced.ts'
import { LazyAutomaton } from './lazy-automaton.ts'
import { parseFragment, parsePattern, type PatternDialect } from './pattern-parser.ts'

const PATTERN_LENGTH_MAX = 500

/** How an expression is read and what it must match. */
export interface LinearPatternOptions {
  /** `whole`: the expression must match all of the text, as if it were written `^(?:...)$`. */
  readonly match: 'anywhere' | 'whole'
  /**
   * Default `query`: the dot takes every character, `\s` is ASCII, a class may begin with `]`.
   * `ecma-262`: as a RegExp with the flag `u` reads it, without look-around and back-references.
   */
  readonly dialect?: PatternDialect
  /** The longest source, in code units; default PATTERN_LENGTH_MAX. */
  readonly lengthMax?: number
}

/** Work done in one step of `testSliced`, about a millisecond. */
const STEP_UNITS = 40_000

/**
 * A compiled expression. Contract:
 * - Characters are code points: the dot takes an emoji whole.
 * - A test costs at most the text's length times `size`, usually its length alone.
 * - What is remembered between tests stays below about two megabytes, and `forget` drops it.
 */
export interface LinearPattern {
  /** Instructions of the program, at most PROGRAM_LENGTH_MAX. */
  readonly size: number
  /** Work so far, in units of about 25 nanoseconds; it only grows. */
  readonly spent: number
  test(text: string): boolean
  /** The same for texts of any length. */
  testSliced(text: string): Sliced<boolean>
  forget(): void
}

/** INVALID_ARGUMENT, with a message that begins with "pattern", for unsupported syntax. */
export function compileLinearPattern(
  source: string,
  { match, dialect = 'query', lengthMax = PATTERN_LENGTH_MAX }: LinearPatternOptions,
): LinearPattern {
  const program = parsePattern(source, { isWhole: match === 'whole', dialect, lengthMax })
  return new CompiledPattern(new LazyAutomaton(program), program.length)
}

/** The size that the compiled pattern would have; refuses as `compileLinearPattern` does. */
export function sizeOfLinearPattern(
  source: string,
  { match, dialect = 'query', lengthMax = PATTERN_LENGTH_MAX }: LinearPatternOptions,
): number {
  return parseFragment(source, { isWhole: match === 'whole', dialect, lengthMax }).size
}

class CompiledPattern implements LinearPattern {
  readonly size: number
  readonly #automaton: LazyAutomaton

  constructor(automaton: LazyAutomaton, size: number) {
    this.#automaton = automaton
    this.size = size
  }

  get spent(): number {
    return this.#automaton.spent
  }

  test(text: string): boolean {
    return this.#automaton.advance(this.#automaton.begin(text), Infinity) === 'matched'
  }

  *testSliced(text: string): Sliced<boolean> {
    const run = this.#automaton.begin(text)
    for (;;) {
      const outcome = this.#automaton.advance(run, STEP_UNITS)
      if (outcome !== 'unfinished') return outcome === 'matched'
      yield
    }
  }

  forget(): void {
    this.#automaton.forget()
  }
}
