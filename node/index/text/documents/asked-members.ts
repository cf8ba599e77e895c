// The part of a stored document that some fields have their values from. A dotted name means every
// way to read it: `a.b.c` may be the members a, b and c in each other, `a.b` with a `c` in it, or one
// member of the whole name. All of them are one field of an index, so all of them are kept.

import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import { parseExact, type JsonObject, type JsonValue } from '../../../document/exact-json.ts'
import { buildObject, isJsonArray, isJsonObject } from '../../../document/json-object.ts'
import { AskedNames } from '../../../document/open-object.ts'
import { memberTexts } from '../../../document/text-at-path.ts'
import {
  ALL_FIELD,
  candidateNames,
  KEYWORD_SUFFIX,
  PREFIX_SUFFIX,
  TYPE_FIELD,
} from '../mapping/field-names.ts'
import { parseStoredInSteps } from '../mapping/stored-json.ts'
import type { FieldName } from '../../../query/query-tree.ts'
import { AskedPaths } from './asked-paths.ts'

/** Shorter documents are parsed at once. */
const SMALL_BYTES_MAX = 32 * 1024

/** Reads what some fields of a query need of documents. */
export class AskedMembers {
  /** Undefined if any text of the document may count. */
  readonly #paths: AskedPaths | undefined
  /** The members of the document that a path leads through. */
  readonly #top: AskedNames

  constructor(names: readonly FieldName[]) {
    const isWhole = names.some((name) => name === undefined || name === ALL_FIELD)
    const paths = isWhole ? [] : [TYPE_FIELD, ...new Set(names.flatMap(pathsOf))]
    this.#paths = isWhole ? undefined : new AskedPaths(paths)
    this.#top = new AskedNames(paths.flatMap(beginningsOf))
  }

  /** `json` is a stored document. The values that the fields do not need are left out. */
  *read(json: Buffer): Sliced<JsonObject> {
    const document = yield* this.#parse(json)
    if (!isJsonObject(document)) return {}
    if (this.#paths === undefined) return document
    return yield* keptOf(document, this.#paths, new StepMeter(MEMBERS_PER_STEP))
  }

  *#parse(json: Buffer): Sliced<JsonValue> {
    if (json.length <= SMALL_BYTES_MAX) return parseExact(json)
    if (this.#paths === undefined) return yield* parseStoredInSteps(json)
    const members: (readonly [string, JsonValue])[] = []
    for (const [name, text] of yield* memberTexts(json, this.#top)) {
      members.push([name, yield* parseStoredInSteps(text)])
      yield
    }
    return buildObject(members)
  }
}

/** Where the values of a field of this name may be, with those of sub-fields. */
function pathsOf(name: FieldName): readonly string[] {
  return candidateNames(name ?? ALL_FIELD).flatMap((one) => [
    one,
    ...[KEYWORD_SUFFIX, PREFIX_SUFFIX]
      .filter((suffix) => one.endsWith(suffix))
      .map((suffix) => one.slice(0, -suffix.length)),
  ])
}

/** `a.b.c` begins with the members `a`, `a.b` and `a.b.c`. */
function beginningsOf(path: string): readonly string[] {
  const steps = path.split('.')
  return steps.map((_, end) => steps.slice(0, end + 1).join('.'))
}

/** Members of an object are looked at in about a millisecond. */
const MEMBERS_PER_STEP = 4096

function* keptOf(object: JsonObject, asked: AskedPaths, meter: StepMeter): Sliced<JsonObject> {
  const kept: (readonly [string, JsonValue])[] = []
  for (const name of Object.keys(object)) {
    if (meter.spend(1)) yield
    const paths = asked.member(name)
    const value = object[name]
    if (paths === undefined || value === undefined) continue
    kept.push([name, paths.isWhole ? value : yield* keptIn(value, paths, meter)])
  }
  return buildObject(kept)
}

/** A value that is neither an object nor an array has no members, but may have decided the field's type. */
function* keptIn(value: JsonValue, asked: AskedPaths, meter: StepMeter): Sliced<JsonValue> {
  if (isJsonObject(value)) return yield* keptOf(value, asked, meter)
  if (!isJsonArray(value)) return value
  const elements: JsonValue[] = []
  for (const element of value) {
    if (meter.spend(1)) yield
    elements.push(yield* keptIn(element, asked, meter))
  }
  return elements
}
