// Programs of a linear pattern, put together from fragments whose sizes are known before anything is
// emitted, so that counted repetition cannot make a program that is too long.

import { ServiceError } from '../errors.ts'

/** Counted repetition multiplies; this bounds what it can multiply to. */
const PROGRAM_LENGTH_MAX = 10_000

export type CharacterTest = (codePoint: number) => boolean

export type Instruction =
  | { readonly op: 'character'; readonly test: CharacterTest }
  /** Continues at both places. */
  | { readonly op: 'split'; readonly first: number; readonly second: number }
  | { readonly op: 'jump'; readonly to: number }
  | { readonly op: Assertion }
  | { readonly op: 'match' }

/** Takes no character: holds between two of them, or at an end of the text. */
export type Assertion = 'begin' | 'end' | 'word-boundary' | 'no-word-boundary'

/**
 * A part of a program. Its size in instructions is known before it is emitted, and `emit` may be
 * called again.
 */
export interface Fragment {
  readonly size: number
  /** Appends its instructions; what follows is placed behind them. */
  emit(program: Instruction[]): void
}

/** How often an atom repeats. Without `max` there is no upper bound. */
export interface Repeat {
  readonly min: number
  readonly max: number | undefined
}

export function single(instruction: Instruction): Fragment {
  return { size: 1, emit: (program) => void program.push(instruction) }
}

export function sequence(parts: readonly Fragment[]): Fragment {
  // Without the empty parts, size also bounds how long emitting takes.
  const full = parts.filter((part) => part.size > 0)
  const [only] = full
  if (only !== undefined && full.length === 1) return only
  const size = full.reduce((sum, part) => sum + part.size, 0)
  return bounded({
    size,
    emit: (program) => {
      for (const part of full) part.emit(program)
    },
  })
}

export function either(left: Fragment, right: Fragment): Fragment {
  return bounded({
    size: left.size + right.size + 2,
    emit: (program) => {
      const first = program.length + 1
      const second = first + left.size + 1
      program.push({ op: 'split', first, second })
      left.emit(program)
      program.push({ op: 'jump', to: second + right.size })
      right.emit(program)
    },
  })
}

export function repeated(atom: Fragment, { min, max }: Repeat): Fragment {
  if (atom.size === 0) return atom
  if (max === undefined) return sequence([times(atom, min), loop(atom)])
  return sequence([times(atom, min), atMost(atom, max - min)])
}

function times(atom: Fragment, count: number): Fragment {
  return bounded({
    size: atom.size * count,
    emit: (program) => {
      for (let i = 0; i < count; i += 1) atom.emit(program)
    },
  })
}

function loop(atom: Fragment): Fragment {
  return bounded({
    size: atom.size + 2,
    emit: (program) => {
      const at = program.length
      program.push({ op: 'split', first: at + 1, second: at + atom.size + 2 })
      atom.emit(program)
      program.push({ op: 'jump', to: at })
    },
  })
}

/** Each may end the repetition, which keeps the states that are reached together few. */
function atMost(atom: Fragment, count: number): Fragment {
  const size = (atom.size + 1) * count
  return bounded({
    size,
    emit: (program) => {
      const second = program.length + size
      for (let i = 0; i < count; i += 1) {
        program.push({ op: 'split', first: program.length + 1, second })
        atom.emit(program)
      }
    },
  })
}

function bounded(fragment: Fragment): Fragment {
  if (fragment.size > PROGRAM_LENGTH_MAX) throw refusal('repeats too much; use smaller counts')
  return fragment
}

export function refusal(problem: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `pattern ${problem}`)
}
