// Runs a program over texts and remembers the moves that it computes. A state is a set of places in the
// program; the second time that a kind of character meets a state, its move is looked up.
//
// Characters that pass the same tests are of one kind. States and kinds share a budget of memory. When
// it is spent, the automaton forgets all of them and starts again, so that a hostile program costs
// time but not memory.

import { unreachable } from '../assert.ts'
import { isWord } from './character-sets.ts'
import type { Assertion, CharacterTest, Instruction } from './pattern-program.ts'

/** Numbers held in states, their moves and the kinds of characters. */
const REMEMBERED_MAX = 100_000
const STATE_OVERHEAD = 24
const KIND_OVERHEAD = 8
const ASCII = 128
/** The units that a character costs whose move is known. */
const UNITS_PER_MOVE = 0.25

interface State {
  /** Where the program waits for a character or for an assertion, ascending. */
  readonly places: Uint16Array
  readonly behind: Behind
  /** By kind of the next character. */
  readonly moves: (State | undefined)[]
  matchesAtEnd: boolean | undefined
}

/** The kind of the character before the next one, as far as assertions ask. */
type Behind = 'begin' | 'word' | 'other'
type Ahead = 'word' | 'other' | 'end'

interface Kind {
  readonly id: number
  readonly isWord: boolean
  /** By number of the test, whether it holds. */
  readonly passes: Uint8Array
}

const MATCHED = stateOf(new Uint16Array(0), 'other')

export type RunOutcome = 'matched' | 'failed' | 'unfinished'

/** A text under way. */
export interface PatternRun {
  readonly text: string
  at: number
  state: State
  generation: number
}

/**
 * Runs one program over any number of texts, in steps that the caller bounds. Several runs may be
 * under way at once; they share what the automaton has learnt.
 */
export class LazyAutomaton {
  /** The units of work that all runs have taken so far; a unit takes about 25 nanoseconds. */
  spent = 0
  readonly #program: readonly Instruction[]
  readonly #tests: readonly CharacterTest[]
  /** By place, the number of its test. */
  readonly #testAt: Int32Array
  /** A match begins where the text does. */
  readonly #isAnchored: boolean
  readonly #hasBoundaries: boolean
  /** By place, the set that it was last added to. */
  readonly #setOf: Uint32Array
  #set = 0
  #states = new Map<string, State>()
  #kinds = new Map<string, Kind>()
  #asciiKinds: (Kind | undefined)[] = []
  #otherKinds = new Map<number, Kind>()
  #first: State | undefined
  #remembered = 0
  /** Counts what was forgotten: states and kinds of different generations do not go together. */
  #generation = 0

  constructor(program: readonly Instruction[]) {
    this.#program = program
    const tests = new Map<CharacterTest, number>()
    this.#testAt = Int32Array.from(program, (instruction) => {
      if (instruction.op !== 'character') return -1
      const number = tests.get(instruction.test) ?? tests.size
      tests.set(instruction.test, number)
      return number
    })
    this.#tests = [...tests.keys()]
    this.#isAnchored = program[0]?.op === 'begin'
    this.#hasBoundaries = program.some(({ op }) => op.endsWith('word-boundary'))
    this.#setOf = new Uint32Array(program.length)
  }

  begin(text: string): PatternRun {
    const state = this.#firstState()
    return { text, at: 0, state, generation: this.#generation }
  }

  /** Continues the run for about `units` units of work. */
  advance(run: PatternRun, units: number): RunOutcome {
    const { text } = run
    // The run's state was forgotten while other runs had their turn.
    if (run.generation !== this.#generation) {
      run.state = this.#intern(run.state.places, run.state.behind)
    }
    const endUnits = this.spent + units
    let { at, state } = run
    while (at < text.length && state !== MATCHED && state.places.length > 0) {
      const code = text.codePointAt(at) ?? 0
      state = this.#next(state, code)
      at += code > 0xffff ? 2 : 1
      if (this.spent + (at - run.at) * UNITS_PER_MOVE >= endUnits) break
    }
    this.spent += (at - run.at) * UNITS_PER_MOVE
    run.at = at
    run.state = state
    run.generation = this.#generation
    if (state === MATCHED) return 'matched'
    if (state.places.length === 0) return 'failed'
    if (at < text.length) return 'unfinished'
    return this.#matchesAtEnd(state) ? 'matched' : 'failed'
  }

  #next(state: State, code: number): State {
    const known = code < ASCII ? this.#asciiKinds[code] : this.#otherKinds.get(code)
    const kind = known ?? this.#kindOf(code)
    return state.moves[kind.id] ?? this.#move(state, kind)
  }

  forget(): void {
    this.#states = new Map()
    this.#kinds = new Map()
    this.#asciiKinds = []
    this.#otherKinds = new Map()
    this.#first = undefined
    this.#remembered = 0
    this.#generation += 1
  }

  #firstState(): State {
    if (this.#first !== undefined) return this.#first
    const places = this.#emptySet()
    const first = this.#add(places, 0) ? MATCHED : this.#intern(Uint16Array.from(places), 'begin')
    this.#first = first
    return first
  }

  #kindOf(code: number): Kind {
    const passes = Uint8Array.from(this.#tests, (test) => (test(code) ? 1 : 0))
    this.spent += passes.length + 1
    const isWordKind = this.#hasBoundaries && isWord(code)
    const name = `${isWordKind}${passes.join('')}`
    let kind = this.#kinds.get(name)
    if (kind === undefined) {
      kind = { id: this.#kinds.size, isWord: isWordKind, passes }
      this.#kinds.set(name, kind)
      this.#remembered += passes.length + KIND_OVERHEAD
    }
    if (code < ASCII) {
      this.#asciiKinds[code] = kind
      return kind
    }
    // A state is at hand, so that the kinds themselves must stay.
    if (this.#otherKinds.size * KIND_OVERHEAD >= REMEMBERED_MAX) this.#otherKinds.clear()
    this.#otherKinds.set(code, kind)
    return kind
  }

  #move(from: State, kind: Kind): State {
    const to = this.#follow(from, kind)
    const grown = kind.id + 1 - from.moves.length
    if (grown > 0) this.#remembered += grown
    from.moves[kind.id] = to
    return to
  }

  #follow(from: State, kind: Kind): State {
    const decided = this.#decide(from, kind.isWord ? 'word' : 'other')
    if (decided === undefined) return MATCHED
    const places = this.#emptySet()
    for (const place of decided) {
      const isTaken = kind.passes[this.#testAt[place] ?? -1] === 1
      if (isTaken && this.#add(places, place + 1)) return MATCHED
    }
    if (!this.#isAnchored && this.#add(places, 0)) return MATCHED
    return this.#intern(Uint16Array.from(places).toSorted(), kind.isWord ? 'word' : 'other')
  }

  #matchesAtEnd(state: State): boolean {
    state.matchesAtEnd ??= this.#decide(state, 'end') === undefined
    return state.matchesAtEnd
  }

  /** The places with those behind assertions that hold; undefined if the match is among them. */
  #decide({ places, behind }: State, ahead: Ahead): readonly number[] | undefined {
    const decided = this.#emptySet()
    for (const place of places) {
      this.#setOf[place] = this.#set
      decided.push(place)
    }
    for (let i = 0; i < decided.length; i += 1) {
      const place = decided[i] ?? 0
      const op = this.#program[place]?.op
      if (op === undefined || op === 'character' || op === 'split' || op === 'jump') continue
      if (op === 'match') return undefined
      if (holds(op, behind, ahead) && this.#add(decided, place + 1)) return undefined
    }
    this.spent += decided.length
    return decided
  }

  #emptySet(): number[] {
    this.#set += 1
    return []
  }

  /** Adds what is reached from a place without a character; whether the match is. */
  #add(places: number[], begin: number): boolean {
    const pending = [begin]
    for (let place = pending.pop(); place !== undefined; place = pending.pop()) {
      if (this.#setOf[place] === this.#set) continue
      this.#setOf[place] = this.#set
      this.spent += 1
      const instruction = this.#program[place]
      if (instruction?.op === 'match') return true
      if (instruction?.op === 'split') pending.push(instruction.second, instruction.first)
      else if (instruction?.op === 'jump') pending.push(instruction.to)
      else places.push(place)
    }
    return false
  }

  #intern(places: Uint16Array, behind: Behind): State {
    const name = `${behind}${String.fromCharCode(...places)}`
    this.spent += places.length
    const known = this.#states.get(name)
    if (known !== undefined) return known
    if (this.#remembered > REMEMBERED_MAX) this.forget()
    const state = stateOf(places, behind)
    this.#states.set(name, state)
    this.#remembered += places.length * 2 + STATE_OVERHEAD
    return state
  }
}

function stateOf(places: Uint16Array, behind: Behind): State {
  return { places, behind, moves: [], matchesAtEnd: undefined }
}

function holds(assertion: Assertion, behind: Behind, ahead: Ahead): boolean {
  switch (assertion) {
    case 'begin':
      return behind === 'begin'
    case 'end':
      return ahead === 'end'
    case 'word-boundary':
      return (behind === 'word') !== (ahead === 'word')
    case 'no-word-boundary':
      return (behind === 'word') === (ahead === 'word')
    default:
      return unreachable(assertion)
  }
}
