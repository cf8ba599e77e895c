// Resolves ranges by the type of their field: numbers, dates in milliseconds, or terms.

import { unreachable } from '../../../../lib/assert.ts'
import { compareDecimals } from '../../../document/decimal.ts'
import { dateBoundsMs, parseDateMs } from '../../../schema/rfc3339.ts'
import { CANONICAL } from '../analysis/fold-term.ts'
import { compareTexts } from '../encoding/compare-texts.ts'
import { decimalRange, nextDouble } from './exact-numbers.ts'
import { refusal } from './query-context.ts'
import { termRangeMatcher } from './term-matchers.ts'
import type { EngineQuery } from '../engine-query.ts'
import type { QueryBounds } from '../../../query/query-tree.ts'
import type { IndexedField } from './field-registry.ts'

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/

/** A range on one field. */
export interface RangeRequest<Value> {
  readonly field: IndexedField
  /** The field's name as the client wrote it. */
  readonly name: string
  readonly bounds: QueryBounds<Value>
  readonly boost: number
}

/** A range of doubles: of numbers, or of dates in milliseconds. */
export function doubleRange(request: RangeRequest<number>): EngineQuery {
  const { field, name, bounds, boost } = request
  if (field.kind === 'number') {
    return numberRange({ ...request, bounds: mapBounds(bounds, String) })
  }
  if (field.kind !== 'date') refuseRange(field, name)
  const { min = -Infinity, max = Infinity } = bounds
  const low = bounds.inclusiveMin ? min : nextDouble(min, 1)
  const high = bounds.inclusiveMax ? max : nextDouble(max, -1)
  if (low > high) return { kind: 'none' }
  return { kind: 'range', field: field.indexField, min: low, max: high, boost }
}

/** The bounds are decimals, with all their digits. */
export function numberRange(request: RangeRequest<string>): EngineQuery {
  const { field, name, bounds, boost } = request
  const doubles = mapBounds(bounds, (text) => toNumber(text, name))
  if (field.kind !== 'number') return doubleRange({ ...request, bounds: doubles })
  const { min, max } = mapBounds(bounds, (text) => text.trim())
  const isReversed = min !== undefined && max !== undefined && compareDecimals(min, max) > 0
  if (isReversed) refuse(name, `has a reversed range: ${min} is above ${max}`)
  return decimalRange({ field: field.indexField, boost }, { ...bounds, min, max })
}

/** The bounds are times or days, as clients write them. */
export function dateRange(request: RangeRequest<string>): EngineQuery {
  const { name, bounds } = request
  const { min, max } = mapBounds(bounds, (text) => toDateMs(text, name))
  if (min !== undefined && max !== undefined && min > max) {
    refuse(name, `has a reversed range: ${bounds.min} is after ${bounds.max}`)
  }
  return doubleRange({ ...request, bounds: dateBoundsMs(bounds) })
}

/** Resolves bounds that are text. The field's type decides what they mean. */
export function textRange(request: RangeRequest<string>): EngineQuery {
  const { field, name } = request
  switch (field.kind) {
    case 'number':
      return numberRange(request)
    case 'date':
      return dateRange(request)
    case 'keyword':
      return termRange(request)
    case 'text':
    case 'boolean':
    case 'point':
    case 'shape':
      return refuseRange(field, name)
    default:
      return unreachable(field.kind)
  }
}

function termRange({ field, name, bounds: written, boost }: RangeRequest<string>): EngineQuery {
  const [min, max] = [composed(written.min), composed(written.max)]
  const bounds = { ...written, min, max }
  if (min !== undefined && max !== undefined && compareTexts(min, max) > 0) {
    refuse(name, `has a reversed range: "${min}" comes after "${max}"`)
  }
  return {
    kind: 'expand',
    field: field.indexField,
    matcher: termRangeMatcher(bounds),
    boost,
  }
}

/** Normalized like the values of a field. */
function composed(text: string | undefined): string | undefined {
  return text === undefined ? undefined : CANONICAL.term(text)
}

export function toNumber(text: string, name: string): number {
  const trimmed = text.trim()
  if (!DECIMAL.test(trimmed)) refuse(name, `contains numbers, but "${text}" is not a number`)
  return Number(trimmed)
}

export function toDateMs(text: string, name: string): number {
  const ms = parseDateMs(text.trim())
  return ms ?? refuse(name, `contains dates, but "${text}" is not an RFC 3339 timestamp or day`)
}

function mapBounds<From, To>(
  bounds: QueryBounds<From>,
  convert: (bound: From) => To,
): QueryBounds<To> {
  return {
    ...bounds,
    min: bounds.min === undefined ? undefined : convert(bounds.min),
    max: bounds.max === undefined ? undefined : convert(bounds.max),
  }
}

function refuseRange(field: IndexedField, name: string): never {
  if (field.kind !== 'text') return refuse(name, `is of type ${field.kind}, which has no ranges`)
  return refuse(
    name,
    'is text, and a range needs whole values: search its keyword sub-field, or give it the type ' +
      'keyword, numeric or datetime in x-service-types',
  )
}

function refuse(name: string, problem: string): never {
  throw refusal(name, problem)
}
