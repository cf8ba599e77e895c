// Takes the special members of a document out of its body (special-names.ts).

import { ServiceError } from '../../lib/errors.ts'
import { JsonScanner, readString, SCAN_STEP_BYTES } from './json-scanner.ts'
import { StepMeter, type Sliced } from '../../lib/sliced.ts'
import { CHUNKS_FIELD, EMBEDDINGS_FIELD, SUMMARIES_FIELD } from './special-names.ts'

/** A document without its special members. */
export interface SplitDocument {
  /** The members of the body, as compact JSON. */
  readonly json: Buffer
  /** The value of `_embeddings`, as compact JSON; undefined if the document has none. */
  readonly embeddings: Buffer | undefined
}

/** What a member costs beside its bytes. The unit is bytes. */
const MEMBER_COST_BYTES = 64
const COMMA = 0x2c
const OPEN_BRACE = Buffer.from('{')
const EMPTY_OBJECT = Buffer.from('{}')

/**
 * Takes `_embeddings` out of a document, which is compact JSON without repeated names. INVALID_ARGUMENT
 * for a member that the store alone makes.
 */
export function* splitDocument(document: Buffer): Sliced<SplitDocument> {
  const scanner = new JsonScanner(document)
  const meter = new StepMeter(SCAN_STEP_BYTES)
  let found: { readonly start: number; readonly from: number; readonly end: number } | undefined
  scanner.enterObject()
  while (scanner.nextMember()) {
    const start = scanner.nameStart - 1
    const name = nameOf(scanner)
    const from = scanner.position
    if (name === CHUNKS_FIELD || name === SUMMARIES_FIELD) throw madeByTheStore(name)
    scanner.beginValue()
    while (!scanner.scanSome(SCAN_STEP_BYTES)) yield
    if (name === EMBEDDINGS_FIELD) found = { start, from, end: scanner.position }
    if (meter.spend(scanner.position - start + MEMBER_COST_BYTES)) yield
  }
  if (found === undefined) return { json: document, embeddings: undefined }
  const { start, from, end } = found
  const json = joined(document.subarray(1, start), document.subarray(end))
  return { json, embeddings: document.subarray(from, end) }
}

/** `before` ends with a comma unless it is empty; `after` begins with one unless it is the brace alone. */
function joined(before: Buffer, after: Buffer): Buffer {
  if (before.length > 0) return Buffer.concat([OPEN_BRACE, before.subarray(0, -1), after])
  return after[0] === COMMA ? Buffer.concat([OPEN_BRACE, after.subarray(1)]) : EMPTY_OBJECT
}

function nameOf({ bytes, nameStart, nameEnd, nameHasEscapes }: JsonScanner): string {
  return readString(bytes, nameStart, nameEnd, nameHasEscapes)
}

function madeByTheStore(name: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `${name} is made by the store; leave it out`)
}
