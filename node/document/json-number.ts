// Arithmetic and comparison of JSON numbers. Integers of any size are exact; other numbers are
// doubles.

import { isRawNumber } from './exact-json.ts'
import type { JsonValue, RawNumber } from './exact-json.ts'

export type JsonNumber = number | RawNumber

export function isJsonNumber(value: JsonValue | undefined): value is JsonNumber {
  return typeof value === 'number' || isRawNumber(value)
}

/** The sum; undefined if it is beyond the range of a double. */
export function addNumbers(left: JsonNumber, right: JsonNumber): JsonNumber | undefined {
  const [leftInteger, rightInteger] = [integerOf(left), integerOf(right)]
  if (leftInteger === undefined || rightInteger === undefined) {
    return finite(toDouble(left) + toDouble(right))
  }
  return ofInteger(leftInteger + rightInteger)
}

/** The product; undefined if it is beyond the range of a double. */
export function multiplyNumbers(left: JsonNumber, right: JsonNumber): JsonNumber | undefined {
  const [leftInteger, rightInteger] = [integerOf(left), integerOf(right)]
  if (leftInteger === undefined || rightInteger === undefined) {
    return finite(toDouble(left) * toDouble(right))
  }
  return ofInteger(leftInteger * rightInteger)
}

/** Negative, zero or positive, as for Array.prototype.sort. */
export function compareNumbers(left: JsonNumber, right: JsonNumber): number {
  if (typeof left === 'number' && typeof right === 'number') return left - right
  // JavaScript compares a double and a bigint exactly, whatever their size.
  const [low, high] = [integerOf(left) ?? toDouble(left), integerOf(right) ?? toDouble(right)]
  if (low < high) return -1
  return low > high ? 1 : 0
}

function integerOf(value: JsonNumber): bigint | undefined {
  // A double means the decimal that it prints as: 1e20 and 100000000000000000000 are one integer.
  const text = typeof value === 'number' ? String(value) : value.rawJSON
  return /^-?\d+$/.test(text) ? BigInt(text) : undefined
}

function toDouble(value: JsonNumber): number {
  return typeof value === 'number' ? value : Number(value.rawJSON)
}

function ofInteger(value: bigint): JsonNumber | undefined {
  const double = Number(value)
  if (Number.isSafeInteger(double)) return double
  return Number.isFinite(double) ? JSON.rawJSON(value.toString()) : undefined
}

function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined
}
