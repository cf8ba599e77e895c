// What JSON text becomes in memory when it is parsed: charged before it is, because a value takes two bytes of a body and
// fifty of memory.

import { StepMeter, type Sliced } from '../sliced.ts'

/** A value with its place in a list or an object, at most: most take less. */
const VALUE_BYTES = 64
/** Looked through in about half a millisecond. */
const STEP_BYTES = 512 * 1024

const COMMA = 0x2c
const LIST_START = 0x5b
const OBJECT_START = 0x7b

/**
 * An upper bound, quickly: commas and brackets within strings count as well. A parser that refuses text of more than
 * `valuesMax` values makes no more of them.
 */
export function* parsedBytesOf(json: Buffer, valuesMax = Infinity): Sliced<number> {
  const meter = new StepMeter(STEP_BYTES)
  let values = 1
  for (let from = 0; from < json.length; from += STEP_BYTES) {
    values += valuesIn(json, from, Math.min(json.length, from + STEP_BYTES))
    if (values >= valuesMax) break
    if (meter.spend(STEP_BYTES)) yield
  }
  return json.length + Math.min(values, valuesMax) * VALUE_BYTES
}

function valuesIn(json: Buffer, from: number, to: number): number {
  let values = 0
  for (let at = from; at < to; at++) {
    const byte = json[at]
    if (byte === COMMA || byte === LIST_START || byte === OBJECT_START) values += 1
  }
  return values
}
