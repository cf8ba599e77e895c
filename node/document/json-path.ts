// Paths to one value of a document, such as `title`, `author.name`, `$.items[0].name` and `$['two words']`: the
// part of JSONPath (RFC 9535) that names at most one value.

import { ServiceError } from '../../lib/errors.ts'
import { StepMeter, type Sliced } from '../../lib/sliced.ts'
import { JsonScanner, kindAt, SCAN_STEP_BYTES } from './json-scanner.ts'
import { AskedNames } from './open-object.ts'
import { memberTexts } from './text-at-path.ts'

/** A parsed path: names of members, and positions in arrays. */
export interface JsonPath {
  /** Absent for a path that begins with `$`: else a top-level member of exactly this name has precedence. */
  readonly literal: string | undefined
  readonly steps: readonly (string | number)[]
}

const PATH_LENGTH_MAX = 1024
/** What an element costs beside its bytes. The unit is bytes. */
const ELEMENT_COST_BYTES = 32

const NAME = /[^.[\]'"*]+/y
const INDEX = /\[(0|[1-9]\d{0,8})\]/y
const QUOTED = /\[(?:'((?:[^'\\]|\\['\\])*)'|"((?:[^"\\]|\\["\\])*)")\]/y

/** `where` names the member of the request, for messages. INVALID_ARGUMENT says where the path does not parse. */
export function parseJsonPath(text: string, where: string): JsonPath {
  if (text.length > PATH_LENGTH_MAX) {
    throw invalid(`${where}: a path may have ${PATH_LENGTH_MAX} characters, not ${text.length}`)
  }
  const isRooted = /^\$(?=[.[]|$)/.test(text)
  const steps = readSteps(text, isRooted, where)
  if (steps.length === 0) {
    throw invalid(`${where}: "$" is the whole document; leave the path out for that`)
  }
  if (typeof steps[0] === 'number') {
    throw invalid(`${where}: "${text}" must begin with a name, because documents are objects`)
  }
  return { literal: isRooted ? undefined : text, steps }
}

function readSteps(text: string, isRooted: boolean, where: string): readonly (string | number)[] {
  const steps: (string | number)[] = []
  let at = isRooted ? 1 : 0
  // The first name of a path without `$` has no dot before it.
  let isBareName = !isRooted
  while (at < text.length || isBareName) {
    const found = isBareName ? readFirst(text) : readStep(text, at)
    if (found === undefined) throw refusedAt(text, at, where)
    steps.push(found.step)
    at = found.end
    isBareName = false
  }
  return steps
}

/** The JSON text of the value at the path, in steps; undefined if there is none. */
export function* textAtJsonPath(document: Buffer, path: JsonPath): Sliced<Buffer | undefined> {
  const { literal, steps } = path
  const [first, ...rest] = steps
  if (typeof first !== 'string') return undefined
  const names = literal === undefined ? [first] : [literal, first]
  const top = yield* memberTexts(document, new AskedNames(names))
  const whole = literal === undefined ? undefined : top.get(literal)
  if (whole !== undefined) return whole
  let value = top.get(first)
  for (const step of rest) {
    if (value === undefined) return undefined
    value = typeof step === 'string' ? yield* memberOf(value, step) : yield* elementOf(value, step)
  }
  return value
}

function* memberOf(value: Buffer, name: string): Sliced<Buffer | undefined> {
  if (kindAt(value, 0) !== 'object') return undefined
  return (yield* memberTexts(value, new AskedNames([name]))).get(name)
}

function* elementOf(value: Buffer, index: number): Sliced<Buffer | undefined> {
  if (kindAt(value, 0) !== 'array') return undefined
  const scanner = new JsonScanner(value)
  const meter = new StepMeter(SCAN_STEP_BYTES)
  scanner.enterArray()
  for (let at = 0; scanner.nextElement(); at++) {
    scanner.beginValue()
    const start = scanner.position
    while (!scanner.scanSome(SCAN_STEP_BYTES)) yield
    if (at === index) return value.subarray(start, scanner.position)
    if (meter.spend(scanner.position - start + ELEMENT_COST_BYTES)) yield
  }
  return undefined
}

interface Step {
  readonly step: string | number
  readonly end: number
}

function readFirst(text: string): Step | undefined {
  return readName(text, 0) ?? readBracket(text, 0)
}

function readStep(text: string, at: number): Step | undefined {
  return text[at] === '.' ? readName(text, at + 1) : readBracket(text, at)
}

function readName(text: string, at: number): Step | undefined {
  const name = matchAt(NAME, text, at)
  return name && { step: name[0], end: at + name[0].length }
}

function readBracket(text: string, at: number): Step | undefined {
  const index = matchAt(INDEX, text, at)
  if (index !== undefined) return { step: Number(index[1]), end: at + index[0].length }
  const quoted = matchAt(QUOTED, text, at)
  if (quoted === undefined) return undefined
  const inside = quoted[1] ?? quoted[2] ?? ''
  return { step: inside.replaceAll(/\\(.)/g, '$1'), end: at + quoted[0].length }
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  const sticky = new RegExp(pattern)
  sticky.lastIndex = at
  return sticky.exec(text) ?? undefined
}

function refusedAt(text: string, at: number, where: string): ServiceError {
  const forms = "a.b, $.a.b, $.items[0].name or $['a b']"
  return invalid(
    `${where}: "${text}" does not parse at character ${at}; a path is ${forms}, without wildcards and filters`,
  )
}

function invalid(message: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', message)
}
