import { StepMeter, type Sliced } from '../../lib/sliced.ts'
import { parseExact } from './exact-json.ts'
import type { JsonValue } from './exact-json.ts'
import type { FieldPath } from './field-path.ts'
import { JsonScanner, kindAt, SCAN_STEP_BYTES } from './json-scanner.ts'
import { AskedNames } from './open-object.ts'

/** `scalarOf` does not read longer values. */
const SCALAR_BYTES_MAX = 64 * 1024
/** What a member costs beside its bytes. The unit is bytes. */
const MEMBER_COST_BYTES = 32

/** The text of the value that `valueAt` finds, in steps and without parsing the document. */
export function* textAtPath(document: Buffer, path: FieldPath): Sliced<Buffer | undefined> {
  const [first = path.text, ...rest] = path.segments
  const top = yield* memberTexts(document, new AskedNames([path.text, first]))
  const literal = top.get(path.text)
  if (literal !== undefined) return literal
  let value = top.get(first)
  for (const segment of rest) {
    if (value === undefined || kindAt(value, 0) !== 'object') return undefined
    value = (yield* memberTexts(value, new AskedNames([segment]))).get(segment)
  }
  return value
}

/** The texts of the members that `asked` names, by their names. */
export function* memberTexts(
  object: Buffer,
  asked: AskedNames,
): Sliced<ReadonlyMap<string, Buffer>> {
  const texts = new Map<string, Buffer>()
  const scanner = new JsonScanner(object)
  const meter = new StepMeter(SCAN_STEP_BYTES)
  scanner.enterObject()
  while (scanner.nextMember()) {
    const name = asked.find(scanner)
    scanner.beginValue()
    const start = scanner.position
    while (!scanner.scanSome(SCAN_STEP_BYTES)) yield
    if (name !== undefined) texts.set(name, object.subarray(start, scanner.position))
    if (meter.spend(scanner.position - start + MEMBER_COST_BYTES)) yield
  }
  return texts
}

/** The value of a text if it is a scalar of ordinary length; otherwise null. */
export function scalarOf(text: Buffer): JsonValue {
  const kind = kindAt(text, 0)
  const isScalar = kind !== 'object' && kind !== 'array' && text.length <= SCALAR_BYTES_MAX
  return isScalar ? parseExact(text) : null
}
