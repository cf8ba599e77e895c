// Finds a document's key in its fields.

import { usageError } from '../process/exit.ts'

/** The source of keys: one field, or a template such as `{country}/{city}`. */
export interface KeyRule {
  /** Literal texts and field paths in turn; the paths have odd indexes. */
  readonly parts: readonly string[]
  /** Whether an option names the key. Otherwise, a document in an envelope has the envelope's. */
  readonly isGiven: boolean
}

/** The field of the key if no option names another. */
const DEFAULT_KEY_FIELD = 'id'

/** The key of a document, or a sentence that says why it has none. */
export type KeyResult =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'problem'; readonly problem: string }

/** Parses `--key` and `--key-template`. Throws a usage error for both, or for a template without fields. */
export function parseKeyRule(options: { key?: string; template?: string }): KeyRule {
  if (options.template === undefined) {
    const parts = ['', options.key ?? DEFAULT_KEY_FIELD, '']
    return { parts, isGiven: options.key !== undefined }
  }
  if (options.key !== undefined) throw usageError('give --key or --key-template, not both')
  const parts = options.template.split(/\{([^{}]+)\}/)
  if (parts.length === 1 || parts.some((part, at) => at % 2 === 0 && /[{}]/.test(part))) {
    const remedy = "put fields in braces, like --key-template '{country}/{city}'"
    throw usageError(`--key-template: "${options.template}" has no field: ${remedy}`)
  }
  return { parts, isGiven: true }
}

/** The paths of the key's fields. */
export function fieldsOfKey({ parts }: KeyRule): string[] {
  return parts.filter((_part, at) => at % 2 === 1)
}

/** The key of a document. `text` is its JSON, which has all digits of large integers. */
export function keyOf(rule: KeyRule, document: object, text: string): KeyResult {
  let key = ''
  for (const [at, part] of rule.parts.entries()) {
    if (at % 2 === 0) {
      key += part
      continue
    }
    const value = keyText(document, part, text)
    if (value === undefined) {
      const remedy = 'choose the field of the key with --key FIELD'
      return { kind: 'problem', problem: `field "${part}" holds no text or integer: ${remedy}` }
    }
    key += value
  }
  return keyOrProblem(key)
}

/** A key is at least one character long. */
export function keyOrProblem(key: string): KeyResult {
  if (key.length > 0) return { kind: 'key', key }
  return { kind: 'problem', problem: 'the key is empty: every document needs one' }
}

function keyText(document: object, path: string, text: string): string | undefined {
  const value = valueAt(document, path)
  if (typeof value === 'string') return value
  if (typeof value !== 'number') return undefined
  if (Number.isSafeInteger(value)) return String(value)
  // Beyond 2^53, different integers parse to the same number. Only their digits differ.
  const source = valueAt(parseNumbersAsText(text), path)
  return typeof source === 'string' && /^-?\d+$/.test(source) ? source : undefined
}

function valueAt(document: unknown, path: string): unknown {
  const whole = member(document, path)
  if (whole !== undefined || !path.includes('.')) return whole
  let value = document
  for (const name of path.split('.')) value = member(value, name)
  return value
}

function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return Reflect.get(value, name)
}

function parseNumbersAsText(text: string): unknown {
  return JSON.parse(text, (_name, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? context?.source : value,
  )
}
