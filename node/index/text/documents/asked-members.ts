// The part of a stored document that some fields have their values from. A dotted name means every
// way to read it: `a.b.c` may be the members a, b and c in each other, `a.b` with a `c` in it, or one
// member of the whole name. All of them are one field of an index, so all of them are kept.

import type { Sliced } from '../../../../lib/sliced.ts'
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

/** Shorter documents are parsed at once. */
const SMALL_BYTES_MAX = 32 * 1024

/** Reads what some fields of a query need of documents. */
export class AskedMembers {
  /** The paths of values, in full; undefined if any text of the document may count. */
  readonly #paths: readonly string[] | undefined
  readonly #top: AskedNames

  constructor(names: readonly FieldName[]) {
    const isWhole = names.some((name) => name === undefined || name === ALL_FIELD)
    this.#paths = isWhole ? undefined : [TYPE_FIELD, ...new Set(names.flatMap(pathsOf))]
    this.#top = new AskedNames((this.#paths ?? []).flatMap(beginningsOf))
  }

  /** `json` is a stored document. The values that the fields do not need are left out. */
  *read(json: Buffer): Sliced<JsonObject> {
    const document = yield* this.#parse(json)
    if (!isJsonObject(document)) return {}
    return this.#paths === undefined ? document : keptOf(document, this.#paths)
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

function keptOf(object: JsonObject, paths: readonly string[]): JsonObject {
  const kept: (readonly [string, JsonValue])[] = []
  for (const [name, value] of Object.entries(object)) {
    const isWhole = paths.includes(name)
    const inside = isWhole ? [] : paths.filter((path) => path.startsWith(`${name}.`))
    if (isWhole) kept.push([name, value])
    else if (inside.length > 0) {
      const rest = inside.map((path) => path.slice(name.length + 1))
      kept.push([name, keptIn(value, rest)])
    }
  }
  return buildObject(kept)
}

/** A value that is neither an object nor an array has no members, but may have decided the field's type. */
function keptIn(value: JsonValue, paths: readonly string[]): JsonValue {
  if (isJsonArray(value)) return value.map((element) => keptIn(element, paths))
  return isJsonObject(value) ? keptOf(value, paths) : value
}
