// From method and path to an operation of the contract, or to the best advice for a wrong one.

import leven from 'leven'
import { ServiceError } from '../lib/errors.ts'
import type { Operation } from './contract.ts'

const SUGGESTED_PATH_LENGTH_MAX = 256
/** More than two changed characters in five is no longer a slip of the finger. */
const SUGGESTED_DISTANCE_SHARE = 0.4

export type RouteMatch =
  | {
      readonly kind: 'found'
      readonly operation: Operation
      /** Still percent-encoded; `decodeParams` refuses what is malformed. */
      readonly rawParams: Readonly<Record<string, string>>
    }
  | { readonly kind: 'wrong_method'; readonly allow: readonly string[] }
  | { readonly kind: 'unknown'; readonly nearest: string | undefined }

interface Route {
  readonly operation: Operation
  readonly segments: readonly string[]
}

/** Matches requests with the operations of a contract; the first template that fits wins. */
export class RouteTable {
  readonly #routes: readonly Route[]
  readonly #prefix: string

  /** `prefix` is what most paths begin with, and what people leave out. */
  constructor(operations: readonly Operation[], prefix: string) {
    this.#prefix = prefix
    this.#routes = operations.map((operation) => ({
      operation,
      segments: operation.template.split('/'),
    }))
  }

  /** `path` as it was sent, still percent-encoded, without the query. */
  match(method: string, path: string): RouteMatch {
    const segments = path.split('/')
    const samePath = this.#routes.filter((route) => fits(route.segments, segments))
    const route = samePath.find(({ operation }) => operation.method === method)
    if (route !== undefined) {
      const rawParams = rawParamsOf(route.segments, segments)
      return { kind: 'found', operation: route.operation, rawParams }
    }
    if (samePath.length > 0) {
      return { kind: 'wrong_method', allow: allowedBy(samePath) }
    }
    return {
      kind: 'unknown',
      nearest: this.#withoutSlash(method, path) ?? this.#nearest(method, path),
    }
  }

  /** What most people mean who end a path with "/". */
  #withoutSlash(method: string, path: string): string | undefined {
    if (path.length > SUGGESTED_PATH_LENGTH_MAX) return undefined
    const shorter = path.replace(/\/+$/, '')
    if (shorter === path) return undefined
    return this.match(method, shorter).kind === 'found' ? `${method} ${shorter}` : undefined
  }

  #nearest(method: string, path: string): string | undefined {
    if (path.length > SUGGESTED_PATH_LENGTH_MAX) return undefined
    const asked = path.split('/')
    const ranked = this.#routes
      .map(({ operation, segments }) => {
        const known = `${operation.method} ${filledIn(segments, asked)}`
        const plain = leven(`${method} ${path}`, known)
        const prefixed = leven(`${method} ${this.#prefix}${path}`, known) + 1
        return { known, distance: Math.min(plain, prefixed) }
      })
      .toSorted((a, b) => a.distance - b.distance)
    const best = ranked[0]
    if (best === undefined) return undefined
    const close = best.distance <= Math.max(best.known.length * SUGGESTED_DISTANCE_SHARE, 3)
    return close ? best.known : undefined
  }
}

function isParameter(segment: string): boolean {
  return segment.startsWith('{')
}

function fits(template: readonly string[], segments: readonly string[]): boolean {
  if (template.length !== segments.length) return false
  return template.every((part, i) => isParameter(part) || part === segments[i])
}

function rawParamsOf(
  template: readonly string[],
  segments: readonly string[],
): Readonly<Record<string, string>> {
  const entries = template.flatMap((part, i) =>
    isParameter(part) ? [[part.slice(1, -1), segments[i] ?? ''] as const] : [],
  )
  return Object.fromEntries(entries)
}

export function decodeParams(
  rawParams: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const entries = Object.entries(rawParams)
  return Object.fromEntries(entries.map(([name, text]) => [name, decodeParameter(name, text)]))
}

function decodeParameter(name: string, text: string): string {
  if (text === '') throw new ServiceError('INVALID_ARGUMENT', `${name} in the path is empty`)
  // node:http reads the request line as latin1, so a raw UTF-8 byte would become another character.
  if (!isAscii(text)) throw badEncoding(name)
  try {
    return decodeURIComponent(text)
  } catch {
    throw badEncoding(name)
  }
}

function badEncoding(name: string): ServiceError {
  const remedy = 'percent-encode it as UTF-8, as encodeURIComponent does'
  return new ServiceError('INVALID_ARGUMENT', `${name} in the path is malformed; ${remedy}`)
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i += 1) if (text.charCodeAt(i) > 127) return false
  return true
}

/** GET implies HEAD. */
function allowedBy(routes: readonly Route[]): string[] {
  const methods = routes.map(({ operation }) => operation.method)
  return methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
}

/** A template with the caller's own names in it, so that the advice can be used as it stands. */
function filledIn(template: readonly string[], asked: readonly string[]): string {
  const aligned = asked.length === template.length
  return template.map((part, i) => (isParameter(part) && aligned ? asked[i] : part)).join('/')
}
