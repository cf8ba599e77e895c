// Resolves ranges by the type of their field: numbers, dates in milliseconds, or terms.

import { unreachable } from '../../../../lib/assert.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import { parseDateMs } from '../../../schema/rfc3339.ts'
import { compareTerms, termRangeMatcher } from './term-matchers.ts'
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

export function numberRange(request: RangeRequest<number>): EngineQuery {
  const { field, name, bounds, boost } = request
  if (field.kind !== 'number' && field.kind !== 'date') refuseRange(field, name)
  checkOrder(name, bounds)
  const { min = -Infinity, max = Infinity } = bounds
  const low = bounds.inclusiveMin ? min : nextDouble(min, 1)
  const high = bounds.inclusiveMax ? max : nextDouble(max, -1)
  if (low > high) return { kind: 'none' }
  return { kind: 'range', field: field.indexField, min: low, max: high, boost }
}

function checkOrder(name: string, { min, max }: QueryBounds<number>): void {
  if ([min, max].some(Number.isNaN)) {
    refuse(name, 'has a range with a bound that is not a number')
  }
  if (min === undefined || max === undefined || min <= max) return
  refuse(name, `has a reversed range: ${min} is above ${max}`)
}

/** Resolves bounds that are text. The field's type decides what they mean. */
export function textRange(request: RangeRequest<string>): EngineQuery {
  const { field, name, bounds } = request
  switch (field.kind) {
    case 'number':
      return numberRange({ ...request, bounds: mapBounds(bounds, (text) => toNumber(text, name)) })
    case 'date':
      return numberRange({ ...request, bounds: mapBounds(bounds, (text) => toDateMs(text, name)) })
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

function termRange({ field, name, bounds, boost }: RangeRequest<string>): EngineQuery {
  const { min, max } = bounds
  if (min !== undefined && max !== undefined && compareTerms(min, max) > 0) {
    refuse(name, `has a reversed range: "${min}" comes after "${max}"`)
  }
  return {
    kind: 'expand',
    field: field.indexField,
    matcher: termRangeMatcher(bounds),
    boost,
  }
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

/** The next double above (1) or below (-1). The bits of doubles ascend with their magnitude. */
function nextDouble(value: number, direction: 1 | -1): number {
  if (!Number.isFinite(value)) return value
  if (value === 0) return direction * Number.MIN_VALUE
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value)
  const isAway = value > 0 === direction > 0
  view.setBigInt64(0, view.getBigInt64(0) + (isAway ? 1n : -1n))
  return view.getFloat64(0)
}

function mapBounds(
  bounds: QueryBounds<string>,
  convert: (text: string) => number,
): QueryBounds<number> {
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
  throw new ServiceError('INVALID_ARGUMENT', `field "${name}" ${problem}`)
}
