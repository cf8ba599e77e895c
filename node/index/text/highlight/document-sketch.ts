import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import type { JsonObject, JsonValue } from '../../../document/exact-json.ts'
import { isJsonArray, isJsonObject } from '../../../document/json-object.ts'

/** Longer than any date, the longest text whose characters decide its kind. */
const TEXT_LENGTH_MAX = 64
const ELEMENTS_MAX = 64
/** Reading this many values takes about a millisecond. */
const VALUES_PER_STEP = 4096

/** A small copy of a document with enough of it to decide the kinds of its fields. */
export function sketchOf(document: JsonObject): Sliced<JsonObject> {
  return sketchOfObject(document, new StepMeter(VALUES_PER_STEP))
}

function* sketchOfObject(object: JsonObject, meter: StepMeter): Sliced<JsonObject> {
  const members: [string, JsonValue][] = []
  for (const [name, value] of Object.entries(object)) {
    members.push([name, yield* sketch(value, meter)])
  }
  return Object.fromEntries(members)
}

function* sketch(value: JsonValue, meter: StepMeter): Sliced<JsonValue> {
  if (meter.spend(1)) yield
  if (typeof value === 'string') return value.slice(0, TEXT_LENGTH_MAX)
  if (isJsonObject(value)) return yield* sketchOfObject(value, meter)
  if (!isJsonArray(value)) return value
  const elements: JsonValue[] = []
  for (const element of value.slice(0, ELEMENTS_MAX)) elements.push(yield* sketch(element, meter))
  return elements
}
