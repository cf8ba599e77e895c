// Resolves the references of a schema to JSON pointers inside it. Other documents are not read.

import { isJsonRecord, type JsonRecord } from '../../lib/json-record.ts'

/** The base of a schema without an `$id`. */
const NO_BASE = 'schema:///'

/** The references inside one schema. Its anchors and `$id`s are collected once. */
export class SchemaReferences {
  readonly #root: JsonRecord
  /** By absolute URI without a fragment: the pointer of the schema with this `$id`. */
  readonly #resources = new Map<string, string>()
  /** By absolute URI with a fragment: the pointer of the schema with this anchor. */
  readonly #anchors = new Map<string, string>()
  /** By pointer: the base of each schema with an `$id`. */
  readonly #bases = new Map<string, string>()
  readonly #dynamicNames = new Set<string>()
  readonly #ambiguousNames = new Set<string>()

  constructor(root: JsonRecord) {
    this.#root = root
    this.#resources.set(NO_BASE, '')
    this.#bases.set('', NO_BASE)
    this.#collect(root, '', NO_BASE)
  }

  /** The value at a pointer. */
  valueAt(pointer: string): unknown {
    let value: unknown = this.#root
    for (const step of pointer.split('/').slice(1)) value = stepInto(value, step)
    return value
  }

  /** The pointer that a reference at `from` means; undefined if nothing is there. */
  resolve(reference: string, from: string): string | undefined {
    const target = absolute(reference, this.#baseOf(from))
    if (target === undefined) return undefined
    const [uri = '', fragment = ''] = target.split('#')
    const resource = this.#resources.get(uri)
    if (resource === undefined) return undefined
    if (fragment === '') return resource
    if (!fragment.startsWith('/')) return this.#anchors.get(target)
    const pointer = resource + decoded(fragment)
    return this.valueAt(pointer) === undefined ? undefined : pointer
  }

  /** Whether a `$dynamicRef` to this name has more than one target. */
  isAmbiguous(reference: string): boolean {
    return this.#ambiguousNames.has(reference.slice(reference.indexOf('#') + 1))
  }

  #collect(value: unknown, pointer: string, base: string): void {
    if (Array.isArray(value)) {
      for (const [index, inner] of value.entries()) {
        this.#collect(inner, `${pointer}/${index}`, base)
      }
    }
    if (!isJsonRecord(value)) return
    const own = this.#ownBase(value, pointer, base)
    for (const keyword of ['$anchor', '$dynamicAnchor']) {
      const name = value[keyword]
      if (typeof name !== 'string') continue
      this.#anchors.set(`${own}#${name}`, pointer)
      if (keyword === '$anchor') continue
      if (this.#dynamicNames.has(name)) this.#ambiguousNames.add(name)
      this.#dynamicNames.add(name)
    }
    for (const [name, inner] of Object.entries(value)) {
      this.#collect(inner, `${pointer}/${escaped(name)}`, own)
    }
  }

  #ownBase(value: JsonRecord, pointer: string, base: string): string {
    const id = value['$id']
    if (typeof id !== 'string') return base
    if (id.startsWith('#')) {
      this.#anchors.set(`${base}${id}`, pointer)
      return base
    }
    const own = absolute(id, base)?.split('#')[0]
    if (own === undefined) return base
    this.#resources.set(own, pointer)
    this.#bases.set(pointer, own)
    return own
  }

  #baseOf(pointer: string): string {
    let at = pointer
    for (;;) {
      const base = this.#bases.get(at)
      if (base !== undefined) return base
      at = at.slice(0, at.lastIndexOf('/'))
    }
  }
}

/** The value one step of a JSON pointer below `value`; undefined if nothing is there. */
export function stepInto(value: unknown, step: string): unknown {
  const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
  if (Array.isArray(value)) return value[Number(name)]
  return isJsonRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** A name as a step of a JSON pointer. */
export function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

function absolute(reference: string, base: string): string | undefined {
  return URL.canParse(reference, base) ? new URL(reference, base).href : undefined
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}
